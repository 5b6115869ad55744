// Traversal of graphs: each graph before the bodies of its control-flow nodes (cond, map_impl, scan,
// while_loop), bodies in node order, depth first, each graph once.
//
//   method forward(%p, %x) {                            graphs_of(method): forward, then
//     %y = higher_order.cond(%p, @a, @b, [%x])                 a, b
//     %z = higher_order.map_impl(@c, [%y], [])                 c
//   }
//
// A body is owned by its method; nodes refer to it in their arguments.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "depute/api.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Whether a node's arguments name some: whether Node::bodies() has any.
DEPUTE_API bool has_bodies(const Node& node);

// Visits `roots` and all graphs below them. After visit(graph), enter(node) decides for each of its nodes
// whether the node's bodies are visited. Stops at the first error.
template <typename AnyGraph, typename Visit, typename Enter>
Status walk_graphs(std::vector<AnyGraph*> roots, Visit&& visit, Enter&& enter) {
  std::vector<AnyGraph*>& pending = roots;  // in reverse order
  std::ranges::reverse(pending);
  std::unordered_set<const Graph*> visited;
  while (!pending.empty()) {
    AnyGraph* graph = pending.back();
    pending.pop_back();
    if (!visited.insert(graph).second) continue;
    DEPUTE_TRY_STATUS(visit(*graph));
    const auto found = static_cast<std::ptrdiff_t>(pending.size());
    for (auto& node : graph->nodes()) {
      if (!has_bodies(node) || !enter(std::as_const(node))) continue;
      for (AnyGraph* body : node.bodies()) pending.push_back(body);
    }
    std::ranges::reverse(pending.begin() + found, pending.end());
  }
  return {};
}

// Visits a method's graph and then its bodies.
template <typename Visit, typename Enter>
Status walk_graphs(const Method& method, Visit&& visit, Enter&& enter) {
  const Graph& graph = *method.graph;
  if (method.bodies.empty()) return visit(graph);
  return walk_graphs(std::vector<const Graph*>{&graph}, visit, enter);
}

// Returns the graphs that walk_graphs() visits.
DEPUTE_API std::vector<Graph*> graphs_of(Method& method);
DEPUTE_API std::vector<const Graph*> graphs_of(const Method& method);
template <typename Enter>
std::vector<const Graph*> graphs_of(const Method& method, Enter&& enter) {
  std::vector<const Graph*> graphs;
  const auto add = [&](const Graph& graph) -> Status {
    graphs.push_back(&graph);
    return {};
  };
  (void)walk_graphs(method, add, enter);
  return graphs;
}

// Returns the graph and all graphs below it, or all graphs below a node.
DEPUTE_API std::vector<Graph*> graphs_below(Graph& graph);
DEPUTE_API std::vector<const Graph*> graphs_below(const Graph& graph);
DEPUTE_API std::vector<const Graph*> graphs_below(const Node& node);

// Calls visit(method, graph) for all graphs of a program; stops at the first error. Bodies created during a
// visit are visited, too, after the graph that uses them.
template <typename Visit>
Status for_each_graph(Program& program, Visit&& visit) {
  for (auto& method : program.methods) {
    DEPUTE_TRY_STATUS(visit(*method, *method->graph));
    if (method->bodies.empty()) continue;
    const auto visit_body = [&](Graph& graph) -> Status {
      if (&graph == method->graph.get()) return {};  // visited before
      return visit(*method, graph);
    };
    DEPUTE_TRY_STATUS(
        walk_graphs(std::vector<Graph*>{method->graph.get()}, visit_body, [](const Node&) { return true; }));
  }
  return {};
}

// Visits all nodes of a program in methods, bodies and, at any depth, original subprograms of delegates.
// Delegates follow the methods, in order.
template <typename Visit>
void for_each_nested_node(const Program& program, Visit&& visit) {
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) visit(node);
    }
  }
  for (const auto& delegate : program.delegates) {
    if (delegate->original != nullptr) for_each_nested_node(*delegate->original, visit);
  }
}

// Returns a node's place for messages: "forward, %relu_1 (aten.relu.default)".
DEPUTE_API std::string place_of(const Node& node);

}  // namespace depute
