// Copies nodes from one graph to another, with their metadata: what clone() and carving are made of.
//
//   NodeCopier copier(to, bodies);
//   for (const Node& node : from.nodes()) copier.copy(node, [&](const Value* value) {
//     return Argument::of(copies[value]);
//   });
//
// Values are mapped by the caller. Control-flow bodies that arguments name are replaced by those in `bodies`.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/graph.h"

namespace depute {

// Each body that may be met, and what stands for it in the copy.
using BodyMap = std::unordered_map<const Graph*, Graph*>;

class NodeCopier {
 public:
  NodeCopier(Graph& to, const BodyMap& bodies) : to_(to), bodies_(bodies) {}

  // A new node at the end of the graph; its results have the names and types of the old ones.
  template <typename MapValue>
  Node* copy(const Node& node, MapValue&& map_value) {
    args_.clear();
    kwargs_.clear();
    for (const Argument& argument : node.args()) args_.push_back(import(argument, map_value));
    for (const NamedArgument& argument : node.kwargs())
      kwargs_.push_back({argument.name, import(argument.value, map_value)});
    return add(node);
  }

  template <typename MapValue>
  Argument import(const Argument& argument, MapValue&& map_value) {
    Argument copy = to_.import(argument, map_value);
    if (!bodies_.empty()) replace_bodies(copy);
    return copy;
  }

 private:
  Node* add(const Node& node);
  void replace_bodies(Argument& argument) const;

  Graph& to_;
  const BodyMap& bodies_;
  std::unordered_map<const SourceLocation*, const SourceLocation*> sources_;
  std::vector<Argument> args_;
  std::vector<NamedArgument> kwargs_;
  std::vector<ResultSpec> results_;
};

// Copies the inputs, nodes and outputs of `from` into the empty graph `to`.
void copy_graph(const Graph& from, Graph& to, const BodyMap& bodies);

// The bodies that a node's arguments name, in order.
std::vector<Graph*> bodies_of(Node& node);
std::vector<const Graph*> bodies_of(const Node& node);

// A graph and every body below it, each once: a graph before its bodies, bodies in node order, depth first.
// `enter` says whether the bodies of a node are looked at.
template <typename AnyGraph, typename Enter>
std::vector<AnyGraph*> graphs_below(AnyGraph& graph, Enter&& enter) {
  std::vector<AnyGraph*> order;
  std::vector<AnyGraph*> stack = {&graph};
  std::unordered_map<const Graph*, bool> seen;
  std::vector<AnyGraph*> below;
  while (!stack.empty()) {
    AnyGraph* next = stack.back();
    stack.pop_back();
    if (!seen.try_emplace(next, true).second) continue;
    order.push_back(next);
    below.clear();
    for (auto& node : next->nodes()) {
      if (!enter(std::as_const(node))) continue;
      for (AnyGraph* body : bodies_of(node)) below.push_back(body);
    }
    stack.insert(stack.end(), below.rbegin(), below.rend());
  }
  return order;
}
std::vector<Graph*> graphs_below(Graph& graph);
std::vector<const Graph*> graphs_below(const Graph& graph);

}  // namespace depute
