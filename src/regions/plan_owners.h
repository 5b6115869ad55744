// Regions for several owners (backends) on one graph. Each node goes to the first owner that can take it.
//
//   nodes    a -> b -> c -> d        first takes a and d, second takes b, c and d
//   plan     {a} {b c} {d}           first, second, first
//
// With one owner this is grow_regions(). With more, the plan has three steps: assign atoms to owners
// (claim_atoms.h), choose the order of owners (draw_regions.h), and move nodes so that few values cross
// borders (owner_labels.h, settle_regions.h). Minimizing the number of regions is as hard as the shortest
// common supersequence; the result is small but not always minimal. Time is linear in nodes and edges for a
// given number of owners.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/grow_regions.h"

namespace depute {

struct OwnerQuestion {
  std::vector<Support> support;  // by node
  Csr groups;                    // sets of nodes that the owner only takes whole
  RegionOptions options;         // if there are other owners, mode Fx means Settled
};

// Why nodes are not with an owner; fields as in RegionPlan.
struct OwnerAnswer {
  std::vector<NodeOutcome> placement;
  std::vector<RefusedIsland> refused_islands;
  std::vector<std::uint32_t> refused_island_of;
  std::vector<DissolvedGroup> dissolved;
};

struct OwnersPlan {
  Csr regions;  // nodes of each region, ascending; edges between regions lead to larger numbers
  std::vector<std::uint32_t> owner_of;   // by region
  std::vector<std::uint32_t> region_of;  // by node, or no_region
  std::vector<OwnerAnswer> owners;
};

// Uses the edges, outputs, inputs and bytes of `graph`; ignores its support and groups.
OwnersPlan plan_owners(const RegionGraph& graph, std::span<const OwnerQuestion> owners);

}  // namespace depute
