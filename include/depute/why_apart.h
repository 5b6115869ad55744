// Explains why a backend has several partitions in a graph instead of one.
//
//   a -> tan -> b        "%a -> %tan -> %b: one partition with both would need its own result"
//
// Answers for each partition and the next one of the same backend, in the order in which they can run. Paths
// follow from a result alone, whatever partitioner made it; the other reasons from PartitionResult::plans.
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
    Repeat,   // steps that repeat with the same constants are partitions of their own (ProposeOptions::apart)
    Limit,    // together they would be larger than max_nodes or max_values allow
    Mode,     // the options `mode` or `horizontal`
    Backends,  // several backends are planned together, for few partitions and not the fewest
    Choice,    // possible; the partitioner drew them so
  };
  const Graph* graph = nullptr;
  Name first;
  Name second;
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
  std::size_t omitted = 0;  // number of omitted pairs
};

// Pairs of a method: a path can be as long as the graph. Repeats, which have none, do not count.
inline constexpr std::size_t max_apart_told = 100;
inline constexpr std::size_t max_apart_path = 64;  // nodes

// Time is linear in the nodes and edges of the method, plus the lengths of the paths.
WhyAllApart why_apart(const Program& program, const PartitionResult& result);

}  // namespace depute

#pragma GCC visibility pop
