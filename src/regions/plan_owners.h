// Regions for several owners (backends) on one graph. Each node goes to the first owner that can take it.
//
//   nodes    a -> b -> c -> d        first takes a and d, second takes b, c and d
//   plan     {a} {b c} {d}           first, second, first
//
// With one owner this is grow_regions(). With more, what each takes is settled first (claim_atoms.h), then
// the order of owners (draw_regions.h), a region for each of its steps, and last the step of each node, so
// that few values cross borders (owner_labels.h, settle_regions.h). The fewest possible regions are not found
// by any fast method (it is as hard as the shortest common supersequence), but few more. Time is linear in
// nodes and edges for a given number of owners.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "regions/grow_regions.h"

namespace depute {

struct OwnerQuestion {
  std::vector<Support> support;  // per node
  Csr groups;                    // sets of nodes that this owner takes whole
  RegionOptions options;         // with other owners, the mode Fx is Settled
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
OwnersPlan plan_owners(const RegionGraph& graph, std::span<const OwnerQuestion> owners);

}  // namespace depute
