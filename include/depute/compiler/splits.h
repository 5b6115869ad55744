// Explains why a backend has several partitions in a graph instead of one.
//
//   a -> tan -> b        "%a -> %tan -> %b: one partition with both would need its own result"
//
// Gives the reason for each partition and the next one of the same backend, in the order in which they can
// run. Paths follow from a result alone, whatever partitioner made it; the other reasons from
// PartitionResult::plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "depute/backend/partition_result.h"

#pragma GCC visibility push(default)

namespace depute {

enum class SplitReason : std::uint8_t {
  Circle,    // a path from one to the other passes a node that the backend does not take
  OneMore,   // one partition for both would force more partitions in all
  Repeat,    // steps that repeat with the same constants are partitions of their own (ProposeOptions::apart)
  Limit,     // together they would be larger than max_nodes or max_values allow
  Mode,      // the options `mode` or `horizontal`
  Backends,  // several backends are planned together, for few partitions and not the fewest
  Choice,    // possible; the partitioner drew them so
};

// Two partitions of one backend, and why they are not one. Names outlive the graphs.
struct Split {
  Name method;
  Name graph;  // control-flow body with both; empty: graph of the method
  Name first;  // tags; names of delegates in splits_of() (to_backend.h)
  Name second;
  SplitReason reason = SplitReason::Choice;
  // Circle: names of the nodes on the path. OneMore: a path to the later node that passes all partitions
  // before it. The middle of a long path is omitted.
  std::vector<Name> path = {};
  // OneMore: a path from the earlier node that passes all partitions after it.
  std::vector<Name> path_after = {};
  std::string text = {};
};

struct Splits {
  std::vector<Split> pairs;
  std::size_t omitted = 0;  // number of omitted pairs
};

// Limit on the pairs of a method, since a path can be as long as the graph. Repeats, which have no path, do
// not count.
inline constexpr std::size_t max_splits = 100;
inline constexpr std::size_t max_split_path = 64;  // nodes

// `result` is what a partitioner gave for `method`. Time is linear in the nodes and edges of the method, plus
// the lengths of the paths.
Splits find_splits(const Program& program, const Method& method, const PartitionResult& result);

}  // namespace depute

#pragma GCC visibility pop
