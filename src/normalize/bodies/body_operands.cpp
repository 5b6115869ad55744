#include "normalize/bodies/body_operands.h"

#include "depute/program/walk.h"
#include "support/check.h"

namespace depute {

std::span<const Argument> body_operands(const Node& owner) {
  return owner.args().back().as_list();
}

Value* body_input(const Node& owner, Graph& body, std::size_t operand) {
  std::size_t first = body.inputs().size() - body_operands(owner).size();
  return body.inputs()[first + operand];
}

BodyOperands::BodyOperands(Method& method) {
  graphs_.push_back(method.graph.get());
  owners_[method.graph.get()] = nullptr;
  if (method.bodies.empty()) return;
  for (std::size_t i = 0; i < graphs_.size(); ++i) {
    for (Node& node : graphs_[i]->nodes()) {
      for (Graph* body : node.bodies()) {
        CHECK(owners_.emplace(body, &node).second) << body->name().str();
        graphs_.push_back(body);
      }
    }
  }
}

Value* BodyOperands::in_graph(Value& constant, Graph& graph) {
  Node* node = owner(graph);
  if (node == nullptr) return &constant;
  Value*& value = known_[&graph][&constant];
  if (value == nullptr) value = operand(*in_graph(constant, node->graph()), *node, graph);
  return value;
}

// Returns the input of `graph` that holds `outer`, a value in the graph of the node that runs `graph`.
Value* BodyOperands::operand(Value& outer, Node& node, Graph& graph) {
  auto operands = body_operands(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_value() && operands[i].as_value() == &outer) return body_input(node, graph, i);
  }
  std::vector<Argument> longer(operands.begin(), operands.end());
  longer.push_back(Argument::of(&outer));
  std::vector<Argument> args(node.args().begin(), node.args().end());
  args.back() = node.graph().list(longer);
  node.graph().set_args(node, args, {});
  for (Graph* body : node.bodies()) body->add_input(outer.name(), outer.type());
  return graph.inputs().back();
}

}  // namespace depute
