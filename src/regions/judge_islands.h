// Judges islands (connected pieces of regions) one by one: a tiny piece must not hide in a large region.
//
//   region {conv relu add tanh}, add -> tanh unrelated to conv -> relu      islands {conv relu}, {add tanh}
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "regions/grow_regions.h"

namespace depute {

struct Islands {
  std::vector<std::uint32_t> of;  // by atom: the island's first atom, or no_region
  // Indexed by the island's first atom; 0 and empty for other atoms.
  std::vector<std::uint32_t> supported_nodes;
  Csr nodes;  // ascending
};

Islands find_islands(const AtomGraph& graph, const std::vector<std::uint32_t>& region);

// Returns why an island is refused under these options, or nullopt if it may stay.
std::optional<RefusedIsland> judge_island(const RegionOptions& options, std::uint32_t supported_nodes,
                                          std::span<const std::uint32_t> nodes);

// Returns the placement of a refused island's nodes: TooSmall or NotWorth.
NodeOutcome placement_of(const RefusedIsland& island);

}  // namespace depute
