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

// What a node of the same graph that stands for `node` has of it: the tag, and where it comes from.
void inherit(Node& made, const Node& node);

// Copies the inputs, nodes and outputs of `from` into the empty graph `to`.
void copy_graph(const Graph& from, Graph& to, const BodyMap& bodies);

}  // namespace depute
