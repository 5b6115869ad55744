// Extends lifetimes over the loops of a flat method: a value from before a loop that is used in it is used
// again in the next iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program/graph.h"
#include "ir/node_order.h"

namespace depute {

class Loops {
 public:
  // A node's time is its position + 1.
  Loops(const Graph& graph, const NodeOrder& order);

  // Returns the time until which a value must be kept if it exists since `first` and is used at `time`. This
  // is the end of the outermost loop that contains `time` and begins after `first`.
  std::uint32_t kept_until(std::uint32_t first, std::uint32_t time) const;
  // Returns the time since which the value must be kept if it is written at `time`: the beginning of that
  // loop.
  std::uint32_t kept_since(std::uint32_t first, std::uint32_t time) const;

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Loop {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t around;  // the enclosing loop
  };
  const Loop* outermost(std::uint32_t first, std::uint32_t time) const;

  std::vector<Loop> loops_;
  std::vector<std::uint32_t> innermost_;  // by time; empty without loops
};

}  // namespace depute
