// How long values are kept because of the loops of a flat method: what is there before a loop and is used in
// it is used again in the next turn.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/graph.h"
#include "ir/node_order.h"

namespace depute {

class Loops {
 public:
  // Time is the node's place + 1.
  Loops(const Graph& graph, const NodeOrder& order);

  // Until when a value that is there since `first` is kept when it is used at `time`: the end of the
  // outermost loop that goes on at `time` and began after `first`.
  std::uint32_t kept_until(std::uint32_t first, std::uint32_t time) const;
  // Since when it is kept when it is written at `time`: the begin of that loop.
  std::uint32_t kept_since(std::uint32_t first, std::uint32_t time) const;

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Loop {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t around;  // the loop that this one stands in
  };
  const Loop* outermost(std::uint32_t first, std::uint32_t time) const;

  std::vector<Loop> loops_;
  std::vector<std::uint32_t> innermost_;  // by time; empty without loops
};

}  // namespace depute
