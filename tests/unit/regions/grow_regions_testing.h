// Random graphs, a checker of plans and exhaustive searches, for the tests of region growing. All of it is
// written apart from the algorithm: by definition rather than by labels.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "regions/grow_regions.h"

namespace depute::testing {

struct RandomGraph {
  std::uint32_t nodes = 20;
  std::uint32_t window = 8;  // edges reach back this far
  double inputs = 1.5;       // edges per node, on average
  double unsupported = 0.3;  // shares of the nodes
  double neutral = 0;
  std::uint32_t groups = 0;  // random sets of 2 to 4 nearby nodes, without overlaps
};

RegionGraph random_graph(const RandomGraph& shape, std::uint32_t seed);

// No region depends on itself through others.
bool is_acyclic(const RegionGraph& graph, const std::vector<std::uint32_t>& region_of);

// The first broken rule of a valid plan, or "": coverage, no empty region, no circular dependence, kept
// groups whole, ascending numbers, and a witness that proves the bound.
std::string broken_rule(const RegionGraph& graph, const RegionPlan& plan);

// Size of the values that enter regions (once per region) and leave them; their number if the graph has no
// bytes.
std::uint64_t border_of(const RegionGraph& graph, const RegionPlan& plan);

// The fewest regions of any valid partition that places all supported nodes, by trying all of them.
// For 9 supported and neutral nodes or so.
std::uint32_t fewest_regions(const RegionGraph& graph);

// The same graph with its nodes in another topological order.
RegionGraph shuffled(const RegionGraph& graph, std::uint32_t seed);

// Grows regions, and fails the test if they are not valid.
RegionPlan grow_valid(const RegionGraph& graph, const RegionOptions& options = {});

inline constexpr RegionMode all_modes[] = {RegionMode::Settled, RegionMode::Fx};

inline constexpr Support S = Support::Supported;
inline constexpr Support U = Support::Unsupported;
inline constexpr Support N = Support::Neutral;

}  // namespace depute::testing
