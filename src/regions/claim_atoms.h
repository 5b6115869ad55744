// Assigns atoms to owners that plan together: each atom goes to the first owner that supports it.
//
//   first takes {a b} as a group, second takes b and c         a b: first       c: second
//
// A group goes to its owner unless an earlier owner has one of its nodes. Groups of one owner that depend on
// each other become one block. Blocks of two owners that depend on each other are dissolved, later ones
// first; their nodes go to the next owner that supports them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "regions/plan_owners.h"

namespace depute {

inline constexpr std::uint32_t no_owner = 0xFFFFFFFF;

struct Claims {
  AtomGraph atoms;
  std::vector<std::uint32_t> owner;  // by atom, or no_owner
  // by owner and atom: 1 if the owner may take the atom where useful
  std::vector<std::vector<std::uint8_t>> joins;
  std::vector<std::vector<DissolvedGroup>> dissolved;  // by owner
  // by owner and group: 1 if the group is not kept whole
  std::vector<std::vector<std::uint8_t>> group_is_off;
};

// The answers of all owners after refusals, and the claims that follow from them.
class Claimer {
 public:
  Claimer(const RegionGraph& graph, std::span<const OwnerQuestion> owners);

  // Removes these nodes from the owner's support, and switches off its kept groups that contain one of them.
  void refuse(std::uint32_t owner, std::span<const std::uint32_t> nodes, const Claims& claims);

  Claims claim() const;

 private:
  // Groups that an owner takes together: one group, or several that depend on each other.
  struct Block {
    std::uint32_t owner;
    std::vector<std::uint32_t> groups;
    std::vector<std::uint32_t> nodes;
  };

  static void dissolve(std::uint32_t owner, DissolvedGroup group, Claims& claims);
  std::vector<std::uint32_t> owners_alone() const;
  std::vector<Block> viable_blocks(std::vector<std::uint32_t>& owner, Claims& claims) const;
  std::vector<Block> blocks_of(std::uint32_t owner,
                               const std::function<bool(std::uint32_t node)>& belongs_to_other,
                               Claims& claims) const;
  Atoms contract(const std::vector<std::uint32_t>& owner, const std::vector<Block>& blocks) const;
  std::uint32_t next_owner(std::uint32_t node, std::uint32_t after) const;
  Support support_of_unclaimed(std::uint32_t node) const;
  void name_owners(const std::vector<std::uint32_t>& owner_of_node, Claims& claims) const;

  const RegionGraph& graph_;
  std::span<const OwnerQuestion> owners_;
  std::vector<std::vector<Support>> support_;            // by owner and node
  std::vector<std::vector<std::uint8_t>> group_is_off_;  // by owner and group
};

}  // namespace depute
