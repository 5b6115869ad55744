// Who takes which atom when several owners plan together: the first that can.
//
//   first takes {a b} as a group, second takes b and c         a b: first       c: second
//
// A group goes to its owner unless an earlier owner has one of its nodes. Groups that lie across one another
// are dissolved, later declared ones first; their nodes go to the next owner that takes them.
#pragma once

#include <cstdint>
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
  struct GroupId {
    std::uint32_t owner;
    std::uint32_t group;
  };

  std::vector<std::uint32_t> owners_alone() const;
  std::vector<GroupId> viable_groups(std::vector<std::uint32_t>& owner, Claims& claims) const;
  Atoms contract(const std::vector<std::uint32_t>& owner, const std::vector<GroupId>& groups) const;
  std::uint32_t next_owner(std::uint32_t node, std::uint32_t after) const;
  Support support_of_unclaimed(std::uint32_t node) const;
  void name_owners(const std::vector<std::uint32_t>& owner_of_node, Claims& claims) const;

  const RegionGraph& graph_;
  std::span<const OwnerQuestion> owners_;
  std::vector<std::vector<Support>> support_;            // per owner and node
  std::vector<std::vector<std::uint8_t>> group_is_off_;  // per owner and group
};

}  // namespace depute
