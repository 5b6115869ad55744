// Puts bodies that only set a mode in the place of their call.
//
//   %y = higher_order.wrap_with_set_grad_enabled(false, @body, %x)        %a = aten.sin.default(%x)
//   graph body(%x) { %a = aten.sin.default(%x)  return %a }          ->
//
// Lowered programs compute no gradients, so the mode means nothing. An enabled autocast changes element types
// and is refused. Bodies of control flow stay.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "ir/copy.h"
#include "normalise/pass_error.h"
#include "normalise/passes.h"
#include "ops/control_flow.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view set_grad = "higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view autocast = "higher_order.wrap_with_autocast";

// The position of the body among the arguments; the operands follow it.
Result<std::size_t> body_position(const Node& node) {
  for (std::size_t i = 0; i < node.args().size(); ++i) {
    if (node.arg(i).kind == Argument::Kind::Graph) return i;
  }
  return node_error(node, "the call has no body");
}

Status check_mode(const Node& node, std::size_t body) {
  if (node.op() == set_grad) return {};
  const Argument& enabled =
      body >= 3 ? node.arg(2) : Argument::none();  // device, dtype, enabled, cache, body
  if (enabled.kind == Argument::Kind::Bool && !enabled.as_bool()) return {};
  return node_error(node, "an autocast region that converts element types cannot be lowered",
                    "export the model outside of torch.autocast, or with .to(dtype)");
}

// Copies the body's nodes before `node` and returns what its results become.
Result<std::vector<Argument>> copy_body(Graph& graph, Node& node, const Graph& body,
                                        std::size_t first_operand) {
  std::unordered_map<const Value*, Argument> values;
  std::size_t operands = node.args().size() - first_operand;
  if (operands != body.inputs().size()) return node_error(node, "the body takes another number of operands");
  for (std::size_t i = 0; i < operands; ++i) values[body.inputs()[i]] = node.arg(first_operand + i);
  auto map_value = [&](const Value* value) { return values.at(value); };
  const BodyMap same_bodies;
  NodeCopier copier(graph, same_bodies);
  for (const Node& inner : body.nodes()) {
    Node* copy = copier.copy(inner, map_value);
    graph.move_before(*copy, &node);
    for (std::size_t i = 0; i < copy->results().size(); ++i) {
      values[inner.result(i)] = Argument::of(copy->result(i));
    }
  }
  std::vector<Argument> outputs;
  for (const Argument& output : body.outputs()) outputs.push_back(graph.import(output, map_value));
  return outputs;
}

Status inline_call(Graph& graph, Node& node) {
  TRY(std::size_t position, body_position(node));
  TRY_STATUS(check_mode(node, position));
  TRY(std::vector<Argument> outputs, copy_body(graph, node, *node.arg(position).as_graph(), position + 1));
  if (outputs.size() != node.results().size())
    return node_error(node, "the body returns another number of results");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value& result = *node.result(i);
    if (!result.has_uses()) continue;
    if (!outputs[i].is_value()) return node_error(node, "the body returns a constant");
    graph.replace_uses(result, outputs[i].as_value());
  }
  graph.erase(node);
  return {};
}

bool is_wrapper(const Node& node) {
  return node.op() == set_grad || node.op() == autocast;
}

// Inlines until only control flow is left; a body may itself hold wrappers, which come in with it.
Status inline_graph(Graph& graph) {
  Node* node = graph.first();
  while (node != nullptr) {
    Node* before = node->previous();
    Node* next = node->next();
    if (is_wrapper(*node)) {
      TRY_STATUS(inline_call(graph, *node));
      node = before != nullptr ? before->next() : graph.first();
      continue;
    }
    if (is_control_flow(*node) || !bodies_of(*node).empty()) {
      auto flow = read_control_flow(*node);
      if (!flow) return node_error(*node, flow.error().message);
    }
    node = next;
  }
  return {};
}

}  // namespace

// Afterwards no node wraps a body that only sets a mode (no_grad, disabled autocast): the body stands in its
// place. What has bodies is control flow that read_control_flow() accepts.
Status inline_wrappers(Program& program, const NormaliseOptions&) {
  for (auto& method : program.methods) {
    TRY_STATUS(inline_graph(*method->graph));
    if (method->bodies.empty()) continue;
    for (auto& body : method->bodies) TRY_STATUS(inline_graph(*body));
  }
  return {};
}

}  // namespace depute
