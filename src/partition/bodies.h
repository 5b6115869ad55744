// Bodies: the graphs that control-flow nodes (cond, map_impl, scan, while_loop) run. A body belongs to its
// method; nodes name it among their arguments.
//
//   method forward {                                    walk: forward, then
//     %y = higher_order.cond(%p, @a, @b, [%x])                 a, b
//     %z = higher_order.map_impl(@c, [%y], [])                 c
//   }
#pragma once

#include <functional>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"
#include "ir/copy.h"

namespace depute {

bool has_bodies(const Node& node);

// Visits the method's own graph, then the bodies of its nodes in node order, depth first, each graph once.
// `enters` is asked, after a node's graph was visited, whether the node's bodies are visited, too. Stops at
// the first error.
Status walk_graphs(const Method& method, const std::function<Status(const Graph&)>& visit,
                   const std::function<bool(const Node&)>& enters);

// Every graph that walk_graphs would visit.
std::vector<const Graph*> all_graphs(const Method& method);

// The graphs that a node's bodies are made of: themselves, and the bodies of their nodes. Each once.
std::vector<const Graph*> all_bodies(const Node& node);

// Where a node is, for messages: "forward, %relu_1 (aten.relu.default)".
std::string place_of(const Node& node);

}  // namespace depute
