// Passes constants to the bodies of control flow. A body sees only its inputs, so a constant that a pass
// creates for it becomes an operand of its node, and of all enclosing nodes.
//
//   %y = higher_order.cond(%p, @yes, @no, [%x])          %y = higher_order.cond(%p, @yes, @no, [%x, %two])
//   graph @yes(%a) { aten.add.Tensor(%a, 2) }      ->    graph @yes(%a, %two) { aten.add.Tensor(%a, %two) }
//   graph @no(%a) ...                                    graph @no(%a, %two) ...
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "depute/program/program.h"

namespace depute {

class BodyOperands {
 public:
  // Each body of the method must belong to one node (split_bodies).
  explicit BodyOperands(Method& method);

  // The method's graph and its bodies; each body follows the graph of its node.
  std::span<Graph* const> graphs() const { return graphs_; }
  // The node that runs the body; null for the method's graph.
  Node* owner(const Graph& graph) const { return owners_.at(&graph); }

  // Returns the value in `graph` that holds `constant`, an input of the method's graph.
  Value* in_graph(Value& constant, Graph& graph);

 private:
  Value* operand(Value& outer, Node& node, Graph& graph);

  std::vector<Graph*> graphs_;
  std::unordered_map<const Graph*, Node*> owners_;
  std::unordered_map<const Graph*, std::unordered_map<const Value*, Value*>> known_;  // by the method's input
};

// body_operands() returns the operands that all bodies of a control-flow node get; body_input() returns the
// input of `body` for one of them.
std::span<const Argument> body_operands(const Node& owner);
Value* body_input(const Node& owner, Graph& body, std::size_t operand);

}  // namespace depute
