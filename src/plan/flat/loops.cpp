#include "plan/flat/loops.h"

#include <algorithm>

#include "ops/control/control_ops.h"

namespace depute {

Loops::Loops(const Graph& graph, const NodeOrder& order) {
  std::uint32_t open = none;
  for (const Node& node : graph.nodes()) {
    ControlOp op = control_op(node);
    std::uint32_t time = order[node] + 1;
    if (op == ControlOp::Loop) {
      if (loops_.empty()) innermost_.assign(graph.node_count() + 2, none);
      loops_.push_back({time, time, open});
      open = static_cast<std::uint32_t>(loops_.size() - 1);
    }
    if (open == none) continue;
    innermost_[time] = open;
    if (op != ControlOp::EndLoop) continue;
    loops_[open].end = time;
    open = loops_[open].around;
  }
}

const Loops::Loop* Loops::outermost(std::uint32_t first, std::uint32_t time) const {
  if (loops_.empty()) return nullptr;
  const Loop* found = nullptr;
  for (std::uint32_t loop = innermost_[time]; loop != none; loop = loops_[loop].around) {
    if (loops_[loop].begin < first) break;
    found = &loops_[loop];
  }
  return found;
}

std::uint32_t Loops::kept_until(std::uint32_t first, std::uint32_t time) const {
  const Loop* loop = outermost(first, time);
  return loop == nullptr ? time : loop->end;
}

std::uint32_t Loops::kept_since(std::uint32_t first, std::uint32_t time) const {
  const Loop* loop = outermost(first, time);
  return loop == nullptr ? time : loop->begin;
}

}  // namespace depute
