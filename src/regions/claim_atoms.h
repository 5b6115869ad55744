// Who takes which atom when several owners plan together: the first that can.
//
//   first takes {a b} as a group, second takes b and c         a b: first       c: second
//
// A group goes to its owner unless an earlier owner has one of its nodes. Groups of one owner that need each
// other become one block. Blocks of two owners that need each other are dissolved, later ones first; their
// nodes go to the next owner that takes them.
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
  std::vector<std::uint32_t> owner;              // per atom, or no_owner
  std::vector<std::vector<std::uint8_t>> joins;  // per owner and atom: 1 if it takes the atom where useful
  std::vector<std::vector<DissolvedGroup>> dissolved;   // per owner
  std::vector<std::vector<std::uint8_t>> group_is_off;  // per owner and group: 1 if it is not kept whole
};

// The answers of all owners, as refusals leave them, and the claims that follow from them.
class Claimer {
 public:
  Claimer(const RegionGraph& graph, std::span<const OwnerQuestion> owners);

  // The owner no longer takes these nodes, nor the groups with one of them that were kept whole.
  void refuse(std::uint32_t owner, std::span<const std::uint32_t> nodes, const Claims& claims);

  Claims claim() const;

 private:
  // Groups that an owner takes together: one, or several that need each other.
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
  std::vector<std::vector<Support>> support_;            // per owner and node
  std::vector<std::vector<std::uint8_t>> group_is_off_;  // per owner and group
};

}  // namespace depute
