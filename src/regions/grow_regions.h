// Region growing: which supported nodes are handed to a backend together.
//
//   x -> conv -> relu -> tan -> add -> y           {conv relu} tan {add}      tan is unsupported
//
// A partition is valid if no region depends on itself through nodes outside. Nodes get labels that never fall
// along an edge, even ones for supported and odd ones for unsupported nodes; a region is the set of nodes
// with one even label (label_regions.h). That is valid by construction, takes time linear in nodes and edges,
// and no valid partition has fewer regions. Nodes that may carry several labels settle where the fewest
// values cross borders (settle_regions.h). Connected mode contracts edges instead (connect_regions.h). The
// options then shape the result (shape_regions.h):
//
//   min_nodes 2       {conv relu} tan add          small islands become unsupported, labels are made anew
//   max_nodes 1       {conv} {relu} tan {add}      large regions are cut
//   worth             {conv relu} tan add          islands that cost more than they gain become unsupported
//
// Results depend on the graph and the options only, and are the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "regions/atom_graph.h"
#include "regions/region_graph.h"

namespace depute {

enum class RegionMode : std::uint8_t {
  Settled,    // fewest regions, small borders
  Fx,         // fewest regions, latest labels: the sets that torch's capability based partitioner finds
  Earliest,   // fewest regions, each as early as it can run
  Connected,  // regions hold together by their own edges
  Apart,      // each group, and each supported node outside of groups, is a region of its own
};

enum class Horizontal : std::uint8_t {
  All,   // unrelated nodes may share a region
  Near,  // pieces share one if they have an input or a reader in common, or lie within near_distance numbers
  None,  // regions fall apart into their connected pieces
};

inline constexpr std::uint32_t near_distance = 32;

// What a connected piece of a region saves, and what handing it over costs, in one unit of the caller's.
struct Worth {
  std::uint64_t gain = 0;
  std::uint64_t cost = 0;
  friend bool operator==(const Worth&, const Worth&) = default;
};

struct RegionOptions {
  RegionMode mode = RegionMode::Settled;
  Horizontal horizontal = Horizontal::All;
  // Connected pieces with fewer supported nodes are refused; pieces that max_nodes cuts off may be smaller.
  std::uint32_t min_nodes = 1;
  // Larger regions are cut; a group is not.
  std::uint32_t max_nodes = std::numeric_limits<std::uint32_t>::max();
  // Asked for the nodes, ascending, of each connected piece; those with gain < cost are refused.
  std::function<Worth(std::span<const std::uint32_t> nodes)> worth;
};

enum class Placement : std::uint8_t {
  InRegion,
  Unsupported,  // by itself, or since its group was dissolved
  Neutral,      // neutral, and no region gains by it
  TooSmall,     // its connected piece has fewer than min_nodes supported nodes
  NotWorth,     // its connected piece costs more than it gains
};

// A connected piece that was refused.
struct RefusedIsland {
  std::uint32_t supported_nodes = 0;
  Worth worth;  // zeros if it was too small to be asked
  friend bool operator==(const RefusedIsland&, const RefusedIsland&) = default;
};

struct RegionPlan {
  Csr regions;  // nodes of each region, ascending; edges between regions lead to larger numbers
  std::vector<std::uint32_t> region_of;  // per node, or no_region
  std::vector<Placement> placement;      // per node
  std::vector<RefusedIsland> refused_islands;
  // Per node: its number among the refused islands, or no_region; empty if nothing was refused.
  std::vector<std::uint32_t> refused_island_of;
  std::vector<DissolvedGroup> dissolved;  // groups that could not stay whole, by number

  // The least number of regions possible for what was not refused, and its proof: a path with so many runs of
  // placed nodes, parted by unsupported ones. Neighbours are linked by an edge or belong together by groups.
  std::uint32_t fewest_possible = 0;
  std::vector<std::uint32_t> witness;

  friend bool operator==(const RegionPlan&, const RegionPlan&) = default;
};

RegionPlan grow_regions(const RegionGraph& graph, const RegionOptions& options = {});

}  // namespace depute
