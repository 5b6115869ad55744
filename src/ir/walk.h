// All nodes of a program, wherever they lie: in methods, in bodies of control flow, and in the programs that
// its delegates were made from, at any depth.
//
//   for_each_nested_node(program, [&](const Node& node) { last = std::max(last, node.debug_handle); });
#pragma once

#include "depute/program.h"
#include "ir/copy.h"

namespace depute {

// A method's own graph, then its bodies, depth first; then delegates in order.
template <typename Visit>
void for_each_nested_node(const Program& program, Visit&& visit) {
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_below(*method->graph)) {
      for (const Node& node : graph->nodes()) visit(node);
    }
  }
  for (const auto& delegate : program.delegates) {
    if (delegate->original != nullptr) for_each_nested_node(*delegate->original, visit);
  }
}

}  // namespace depute
