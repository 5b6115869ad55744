// Islands (connected pieces of regions) are what is judged: a tiny unrelated piece must not hide in a large
// region.
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
  std::vector<std::uint32_t> of;  // per atom: the island's first atom, or no_region
  // By first atom; 0 and empty for other atoms.
  std::vector<std::uint32_t> supported_nodes;
  Csr nodes;  // ascending
};

Islands find_islands(const AtomGraph& graph, const std::vector<std::uint32_t>& region);

// Why an island is refused under these options; nothing if it may stay.
std::optional<RefusedIsland> judge_island(const RegionOptions& options, std::uint32_t supported_nodes,
                                          std::span<const std::uint32_t> nodes);

// Why nodes of an island were refused: TooSmall or NotWorth.
Placement placement_of(const RefusedIsland& island);

}  // namespace depute
