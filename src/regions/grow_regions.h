// Region growing: decides which supported nodes form a partition.
//
//   x -> conv -> relu -> tan -> add -> y           {conv relu} tan {add}      tan is unsupported
//
// A partition is valid if no region depends on itself through outside nodes. Nodes get labels that never fall
// along an edge: even ones for supported nodes, odd ones for unsupported nodes. A region is the set of nodes
// with one even label (label_regions.h). This is valid by construction, linear in nodes and edges, and gives
// the minimum number of regions. Nodes with several possible labels settle where the fewest values cross
// borders (settle_regions.h). The options then shape the result (shape_regions.h):
//
//   min_nodes 2       {conv relu} tan add          small islands become unsupported, labels are made anew
//   max_nodes 1       {conv} {relu} tan {add}      large regions are cut
//   worth             {conv relu} tan add          islands that cost more than they gain become unsupported
//
// Results depend only on the graph and the options, and are the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "regions/atom_graph.h"
#include "regions/region_graph.h"

namespace depute {

enum class NodeOutcome : std::uint8_t {
  InRegion,
  Unsupported,  // by itself, or because its group was dissolved
  Neutral,      // neutral, and no region gains by it
  TooSmall,     // its connected piece has fewer than min_nodes supported nodes
  NotWorth,     // its connected piece costs more than it gains
};

// A connected piece that was refused.
struct RefusedIsland {
  std::uint32_t supported_nodes = 0;
  Worth worth;  // zeros if the piece was too small to be judged
  friend bool operator==(const RefusedIsland&, const RefusedIsland&) = default;
};

struct RegionPlan {
  Csr regions;  // nodes of each region, ascending; edges between regions lead to larger numbers
  std::vector<std::uint32_t> region_of;  // by node, or no_region
  std::vector<NodeOutcome> placement;    // by node
  std::vector<RefusedIsland> refused_islands;
  // By node: index of its refused island, or no_region. Empty if nothing was refused.
  std::vector<std::uint32_t> refused_island_of;
  std::vector<DissolvedGroup> dissolved;  // groups that could not stay whole, ordered by number

  // The minimum number of regions for the nodes that were not refused, and its proof. The proof is a path
  // with this many runs of placed nodes, separated by unsupported ones. Neighbors are linked by an edge or
  // are in one group.
  std::uint32_t fewest_possible = 0;
  std::vector<std::uint32_t> witness;

  friend bool operator==(const RegionPlan&, const RegionPlan&) = default;
};

RegionPlan grow_regions(const RegionGraph& graph, const RegionOptions& options = {});

}  // namespace depute
