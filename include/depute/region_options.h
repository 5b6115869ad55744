// How nodes that a backend can take become regions, which are handed over as a whole. docs/regions.md shows
// each option in a picture.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#pragma GCC visibility push(default)

namespace depute {

// What a backend can do with a node.
enum class Support : std::uint8_t {
  Unsupported,  // stays outside of all regions
  Supported,    // is placed in a region
  Neutral,  // may go either side (views, reshapes): joins a region only where that holds the region together
};

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

}  // namespace depute

#pragma GCC visibility pop
