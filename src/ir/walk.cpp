#include "depute/program/walk.h"

#include <fmt/format.h>

namespace depute {
namespace {

bool holds_graph(const Argument& argument) {
  if (argument.kind == Argument::Kind::List) return std::ranges::any_of(argument.as_list(), holds_graph);
  if (argument.kind == Argument::Kind::Map)
    return std::ranges::any_of(argument.as_map(), holds_graph, &NamedArgument::value);
  return argument.kind == Argument::Kind::Graph;
}

bool enter_all(const Node&) {
  return true;
}

template <typename AnyGraph>
std::vector<AnyGraph*> collect(std::vector<AnyGraph*> roots) {
  std::vector<AnyGraph*> graphs;
  const auto add = [&](AnyGraph& graph) -> Status {
    graphs.push_back(&graph);
    return {};
  };
  (void)walk_graphs(std::move(roots), add, enter_all);
  return graphs;
}

}  // namespace

bool has_bodies(const Node& node) {
  return std::ranges::any_of(node.args(), holds_graph) ||
         std::ranges::any_of(node.kwargs(), holds_graph, &NamedArgument::value);
}

std::vector<Graph*> graphs_of(Method& method) {
  if (method.bodies.empty()) return {method.graph.get()};
  return graphs_below(*method.graph);
}

std::vector<const Graph*> graphs_of(const Method& method) {
  return graphs_of(method, enter_all);
}

std::vector<Graph*> graphs_below(Graph& graph) {
  return collect(std::vector<Graph*>{&graph});
}

std::vector<const Graph*> graphs_below(const Graph& graph) {
  return collect(std::vector<const Graph*>{&graph});
}

std::vector<const Graph*> graphs_below(const Node& node) {
  return has_bodies(node) ? collect(node.bodies()) : std::vector<const Graph*>();
}

std::string place_of(const Node& node) {
  return fmt::format("{}, %{} ({})", node.graph().name().str(), node.display_name(), node.op().str());
}

}  // namespace depute
