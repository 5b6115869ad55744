// Why two nodes are not in one partition.
//
//   a -> tan -> b        a and b: "%a -> %tan -> %b: one region with both would need its own result"
//
// Answers from a result alone, whatever partitioner made it. Groups are not known here: nodes that only a
// group keeps apart get the answer Choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "depute/partition_result.h"

#pragma GCC visibility push(default)

namespace depute {

struct WhyApart {
  enum class Reason : std::uint8_t {
    Together,      // they are in one
    OtherGraph,    // in different graphs
    NotDelegated,  // one of them is not delegated; its verdict says why
    OtherOwner,    // they are taken by different backends
    Circle,        // a path from one to the other passes a node that the backend does not take
    OneMore,       // one region for both would force more regions in all
    Choice,        // possible, but the mode, limits on regions, other backends or groups made it so
  };
  Reason reason = Reason::Choice;
  // Circle: the path. OneMore: a path that needs all regions before the later node, up to it.
  std::vector<const Node*> path;
  // OneMore: a path that needs all regions after the earlier node, from it on.
  std::vector<const Node*> path_after;
  std::string text;
};

WhyApart why_apart(const PartitionResult& result, const Node& a, const Node& b);

}  // namespace depute

#pragma GCC visibility pop
