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

// What becomes of the nodes of a dissolved group that no other group holds.
enum class LooseNodes : std::uint8_t {
  LeaveOut,    // unsupported: a group is placed whole or not at all
  PlaceAlone,  // what they are alone
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
  Near,  // pieces share one if they have an input or a reader in common, or lie within near_distance
  None,  // regions fall apart into their connected pieces
};

// What a connected piece of a region saves, and what handing it over costs, in one unit of the caller's.
struct Worth {
  std::uint64_t gain = 0;
  std::uint64_t cost = 0;
  friend bool operator==(const Worth&, const Worth&) = default;
};

struct RegionOptions {
  RegionMode mode = RegionMode::Settled;
  Horizontal horizontal = Horizontal::All;
  std::uint32_t near_distance = 32;  // in node numbers
  // Connected pieces with fewer supported nodes are refused; pieces that max_nodes cuts off may be smaller.
  std::uint32_t min_nodes = 1;
  // Larger regions are cut; a group is not.
  std::uint32_t max_nodes = std::numeric_limits<std::uint32_t>::max();
  LooseNodes loose_nodes = LooseNodes::LeaveOut;
  // Asked for the nodes, ascending, of each connected piece; those with gain < cost are refused.
  std::function<Worth(std::span<const std::uint32_t> nodes)> worth;
};

// How several owners share a graph.
enum class Sharing : std::uint8_t {
  Best,     // the way that places more nodes, or needs fewer regions, or has the smaller border
  InOrder,  // as if the owners were asked one after another
  OnePass,
};

}  // namespace depute

#pragma GCC visibility pop
