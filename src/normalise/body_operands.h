// Hands constants to the bodies of control flow. A body sees nothing but its inputs, so a constant that a
// pass makes for it becomes an operand of its node, and of the nodes around that.
//
//   %y = higher_order.cond(%p, @yes, @no, [%x])             %y = higher_order.cond(%p, @yes, @no, [%x, %two])
//   graph @yes(%a) { aten.add.Tensor(%a, 2) }        ->     graph @yes(%a, %two) { aten.add.Tensor(%a, %two)
//   } graph @no(%a) ...                                       graph @no(%a, %two) ...
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "depute/program.h"

namespace depute {

class BodyOperands {
 public:
  // The method's bodies belong to one node each (inline_wrappers).
  explicit BodyOperands(Method& method);

  // The method's graph, then its bodies, each behind the graph of its node.
  std::span<Graph* const> graphs() const { return graphs_; }
  // The node that runs the body; null for the method's graph.
  Node* owner(const Graph& graph) const { return owners_.at(&graph); }

  // What holds `constant`, an input of the method's graph, in `graph`.
  Value* in_graph(Value& constant, Graph& graph);

 private:
  Value* operand(Value& outer, Node& node, Graph& graph);

  std::vector<Graph*> graphs_;
  std::unordered_map<const Graph*, Node*> owners_;
  std::unordered_map<const Graph*, std::unordered_map<const Value*, Value*>> known_;  // by the method's input
};

// The operands that all bodies of a control-flow node get, and the input of `body` that is the given one.
std::span<const Argument> body_operands(const Node& owner);
Value* body_input(const Node& owner, Graph& body, std::size_t operand);

}  // namespace depute
