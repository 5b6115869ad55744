#include "partition/bodies.h"
#include "support/try.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace depute {
namespace {

bool holds_graph(const Argument& argument) {
  if (argument.kind == Argument::Kind::List) return std::ranges::any_of(argument.as_list(), holds_graph);
  if (argument.kind == Argument::Kind::Map)
    return std::ranges::any_of(argument.as_map(), holds_graph, &NamedArgument::value);
  return argument.kind == Argument::Kind::Graph;
}

// Graphs still to visit, the next one last.
class PendingGraphs {
 public:
  void add_bodies(const Graph& graph, const std::function<bool(const Node&)>& enters) {
    const auto begin = static_cast<std::ptrdiff_t>(graphs_.size());
    for (const Node& node : graph.nodes()) {
      if (!has_bodies(node) || !enters(node)) continue;
      for (const Graph* body : bodies_of(node)) graphs_.push_back(body);
    }
    std::ranges::reverse(graphs_.begin() + begin, graphs_.end());
  }
  void add(const std::vector<const Graph*>& graphs) {
    graphs_.insert(graphs_.end(), graphs.begin(), graphs.end());
  }

  // Null at the end.
  const Graph* next() {
    while (!graphs_.empty()) {
      const Graph* graph = graphs_.back();
      graphs_.pop_back();
      if (visited_.insert(graph).second) return graph;
    }
    return nullptr;
  }

 private:
  std::vector<const Graph*> graphs_;
  std::unordered_set<const Graph*> visited_;
};

bool enter_all(const Node&) {
  return true;
}

}  // namespace

bool has_bodies(const Node& node) {
  return std::ranges::any_of(node.args(), holds_graph) ||
         std::ranges::any_of(node.kwargs(), holds_graph, &NamedArgument::value);
}

Status walk_graphs(const Method& method, const std::function<Status(const Graph&)>& visit,
                   const std::function<bool(const Node&)>& enters) {
  PendingGraphs pending;
  pending.add({method.graph.get()});
  while (const Graph* graph = pending.next()) {
    TRY_STATUS(visit(*graph));
    if (!method.bodies.empty()) pending.add_bodies(*graph, enters);
  }
  return {};
}

std::vector<const Graph*> all_graphs(const Method& method) {
  return graphs_below(*method.graph);
}

std::vector<const Graph*> all_bodies(const Node& node) {
  std::vector<const Graph*> bodies = bodies_of(node);
  PendingGraphs pending;
  pending.add({bodies.rbegin(), bodies.rend()});
  std::vector<const Graph*> graphs;
  while (const Graph* graph = pending.next()) {
    graphs.push_back(graph);
    pending.add_bodies(*graph, enter_all);
  }
  return graphs;
}

std::string place_of(const Node& node) {
  return fmt::format("{}, %{} ({})", node.graph().name().str(), node.display_name(), node.op().str());
}

}  // namespace depute
