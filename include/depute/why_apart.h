// Explains why a backend has several partitions in a graph instead of one.
//
//   a -> tan -> b        "%a -> %tan -> %b: one partition with both would need its own result"
//
// The explanation uses only a PartitionResult of any partitioner. It covers each partition and the next one
// of the same backend in execution order. Groups and limits are unknown here: partitions that are separate
// only because of them get the reason Choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "depute/partition_result.h"

#pragma GCC visibility push(default)

namespace depute {

struct WhyApart {
  enum class Reason : std::uint8_t {
    Circle,   // a path between the two passes a node that the backend does not take
    OneMore,  // one partition for both would require more partitions in total
    Choice,   // possible, but prevented by the mode, limits, other backends or groups
  };
  const Graph* graph = nullptr;
  Symbol first;
  Symbol second;
  Reason reason = Reason::Choice;
  // Circle: the path. OneMore: a path to the later node that passes all partitions before it. The middle of a
  // long path is omitted.
  std::vector<const Node*> path;
  // OneMore: a path from the earlier node that passes all partitions after it.
  std::vector<const Node*> path_after;
  std::string text;
};

struct WhyAllApart {
  std::vector<WhyApart> pairs;
  std::size_t not_told = 0;  // number of omitted pairs
};

inline constexpr std::size_t max_apart_told = 100;  // pairs per method; a path can be as long as the graph
inline constexpr std::size_t max_apart_path = 64;   // nodes per path

// Time is linear in the nodes and edges of the method, plus the lengths of the paths.
WhyAllApart why_apart(const Program& program, const PartitionResult& result);

}  // namespace depute

#pragma GCC visibility pop
