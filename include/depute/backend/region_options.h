// Options for combining supported nodes into regions, each of which is delegated as a whole. docs/regions.md
// illustrates each option.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

namespace depute {

// Whether a backend supports a node.
enum class Support : std::uint8_t {
  Unsupported,  // stays outside all regions
  Supported,    // is placed in a region
  Neutral,      // may be on either side (views, reshapes); joins a region only if it connects the region
};

enum class RegionMode : std::uint8_t {
  Settled,  // fewest regions, few values across borders
  Fx,       // fewest regions, latest labels: same sets as torch's CapabilityBasedPartitioner
  Apart,    // one region per group and per supported node outside groups
};

// Savings and costs of delegating a connected piece of a region, in one unit of the caller's choice.
struct Worth {
  std::uint64_t gain = 0;
  std::uint64_t cost = 0;
  friend bool operator==(const Worth&, const Worth&) = default;
};

struct RegionOptions {
  RegionMode mode = RegionMode::Settled;
  bool merge_unconnected = true;  // false: regions are split into connected pieces
  // Minimum number of supported nodes of a connected piece; smaller pieces are rejected. Pieces cut off by
  // max_nodes may be smaller.
  std::uint32_t min_nodes = 1;
  // Maximum number of nodes; larger regions are cut, but groups are not.
  std::uint32_t max_nodes = std::numeric_limits<std::uint32_t>::max();
  // Evaluates each connected piece; `nodes` is ascending. Pieces with gain < cost are rejected.
  std::function<Worth(std::span<const std::uint32_t> nodes)> worth = {};
};

}  // namespace depute
