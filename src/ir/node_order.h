// Where each node of a graph stands in its order, for as long as an algorithm needs to know.
//
//   NodeOrder order(graph);                   the first node: 0, the return: as many as there are nodes
//   if (order[a] < order[b]) ...              a stands before b
//
// Nodes do not know their own place, so that several threads may look at one graph. The object belongs to the
// algorithm that made it; it takes four bytes for each node that the graph ever had. Who only needs a number
// per node takes Node::id().
#pragma once

#include <cstdint>
#include <vector>

#include "depute/graph.h"

namespace depute {

class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) : place_(graph.node_ids()) {
    std::uint32_t place = 0;
    for (const Node& node : graph.nodes()) place_[node.id()] = place++;
    place_[graph.return_node()->id()] = place;
  }

  std::uint32_t operator[](const Node& node) const { return place_[node.id()]; }

  // Gives a node that was added since, in the place of `other`, that place.
  void put_at(const Node& node, const Node& other) {
    if (node.id() >= place_.size()) place_.resize(node.id() + 1);
    place_[node.id()] = place_[other.id()];
  }

 private:
  std::vector<std::uint32_t> place_;  // by node id
};

}  // namespace depute
