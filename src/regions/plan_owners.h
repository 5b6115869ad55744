// Regions for several owners (backends) on one graph. Each node goes to the first owner that can take it.
//
//   nodes    a -> b -> c -> d        first takes a and d, second takes b, c and d
//   plan     {a} {b c} {d}           first, second, first
//
// With two owners or more, the fewest possible regions are not found by any fast method (it is as hard as
// the shortest common supersequence), so there are two ways, and the better result is taken:
//
//   in order   the first owner grows its regions, they become single nodes, the second owner grows its own
//              around them, and so on: what lowering for one backend after another gives
//   one pass   nodes are taken as they become ready, a region at a time; the owner that has the longest
//              alternation of regions still before it goes first (one_pass.h)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/grow_regions.h"

namespace depute {

struct OwnerQuestion {
  std::vector<Support> support;  // per node
  Csr groups;                    // sets of nodes that this owner takes whole
  RegionOptions options;         // the mode counts in order only, but for Apart and Connected
};

// Why nodes are not with an owner; fields as in RegionPlan.
struct OwnerAnswer {
  std::vector<Placement> placement;
  std::vector<RefusedIsland> refused_islands;
  std::vector<std::uint32_t> refused_island_of;
  std::vector<DissolvedGroup> dissolved;
};

struct OwnersPlan {
  Csr regions;  // nodes of each region, ascending; edges between regions lead to larger numbers
  std::vector<std::uint32_t> owner_of;   // per region
  std::vector<std::uint32_t> region_of;  // per node, or no_region
  std::vector<OwnerAnswer> owners;
};

// `graph` gives edges, outputs, inputs and bytes; its support and groups are not looked at.
OwnersPlan plan_owners(const RegionGraph& graph, std::span<const OwnerQuestion> owners,
                       Sharing sharing = Sharing::Best);

}  // namespace depute
