// Why a backend has several partitions in a graph, and not one.
//
//   a -> tan -> b        "%a -> %tan -> %b: one partition with both would need its own result"
//
// Answers from a result alone, whatever partitioner made it, for each partition and the next one of the same
// backend in the order in which they can run. Groups and limits are not known here: partitions that only
// those keep apart get the answer Choice.
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
    Circle,   // a path from one to the other passes a node that the backend does not take
    OneMore,  // one partition for both would force more partitions in all
    Choice,   // possible, but the mode, limits, other backends or groups made it so
  };
  const Graph* graph = nullptr;
  Symbol first;
  Symbol second;
  Reason reason = Reason::Choice;
  // Circle: the path. OneMore: a path that needs all partitions before the later node, up to it. Of a long
  // path the middle is left out.
  std::vector<const Node*> path;
  // OneMore: a path that needs all partitions after the earlier node, from it on.
  std::vector<const Node*> path_after;
  std::string text;
};

struct WhyAllApart {
  std::vector<WhyApart> pairs;
  std::size_t not_told = 0;  // pairs beside them
};

inline constexpr std::size_t max_apart_told = 100;  // pairs of a method: a path can be as long as the graph
inline constexpr std::size_t max_apart_path = 64;   // nodes

// Time is linear in the nodes and edges of the method but for the paths.
WhyAllApart why_apart(const Program& program, const PartitionResult& result);

}  // namespace depute

#pragma GCC visibility pop
