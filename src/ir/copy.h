// Copies nodes with their metadata from one graph to another; used by clone() and carving.
//
//   NodeCopier copier(to, bodies);
//   for (const Node& node : from.nodes()) copier.copy(node, [&](const Value* value) {
//     return Argument::of(copies[value]);
//   });
//
// The caller maps values. Control-flow bodies in arguments are replaced according to `bodies`.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/program/graph.h"

namespace depute {

// Maps each body in arguments to its copy.
using BodyMap = std::unordered_map<const Graph*, Graph*>;

class NodeCopier {
 public:
  NodeCopier(Graph& to, const BodyMap& bodies) : to_(to), bodies_(bodies) {}

  // Appends a copy of `node` to the graph; the results keep names and types.
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
    return to_.import_leaves(argument, [&](const Argument& leaf) -> Argument {
      if (leaf.is_value()) return map_value(leaf.as_value());
      const bool is_replaced = leaf.kind == Argument::Kind::Graph && !bodies_.empty();
      return is_replaced ? Argument::of(bodies_.at(leaf.as_graph())) : leaf;
    });
  }

 private:
  Node* add(const Node& node);

  Graph& to_;
  const BodyMap& bodies_;
  std::unordered_map<const SourceLocation*, const SourceLocation*> sources_;
  std::vector<Argument> args_;
  std::vector<NamedArgument> kwargs_;
  std::vector<ResultSpec> results_;
};

// Copies tag, debug handle, source and replaced origins to a node that replaces `node` in the same graph.
void inherit(Node& made, const Node& node);

// Copies the inputs, nodes and outputs of `from` into the empty graph `to`.
void copy_graph(const Graph& from, Graph& to, const BodyMap& bodies);

}  // namespace depute
