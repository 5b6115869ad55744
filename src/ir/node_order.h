// NodeOrder: positions of all nodes in a graph, for the duration of an algorithm.
//
//   NodeOrder order(graph);                   // 0 for the first node, graph.node_count() for the return
//   if (order[a] < order[b]) ...              // a stands before b
//
// Nodes do not store their positions, so that several threads can read one graph. The table takes four bytes
// for each node ever added to the graph. Algorithms that only need a number per node use Node::id().
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program/graph.h"

namespace depute {

class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) : place_(graph.node_ids()) {
    std::uint32_t place = 0;
    for (const Node& node : graph.nodes()) place_[node.id()] = place++;
    place_[graph.return_node()->id()] = place;
  }

  std::uint32_t operator[](const Node& node) const { return place_[node.id()]; }

  // Assigns the position of `other` to a node added since.
  void put_at(const Node& node, const Node& other) {
    if (node.id() >= place_.size()) place_.resize(node.id() + 1);
    place_[node.id()] = place_[other.id()];
  }

 private:
  std::vector<std::uint32_t> place_;  // by node id
};

}  // namespace depute
