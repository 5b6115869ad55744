// Puts bodies that only set a mode in the place of their call.
//
//   %y = higher_order.wrap_with_set_grad_enabled(false, @body, %x)        %a = aten.sin.default(%x)
//   graph body(%x) { %a = aten.sin.default(%x)  return %a }          ->
//
// Lowered programs compute no gradients, so the mode means nothing. An enabled autocast changes element types
// and is refused, as is control flow.
#include <unordered_map>

#include "normalise/each_graph.h"
#include "normalise/passes.h"
#include "ops/op_def.h"

namespace depute {
namespace {

constexpr std::string_view pass = "inline-wrappers";
constexpr std::string_view set_grad = "higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view autocast = "higher_order.wrap_with_autocast";

// The position of the body among the arguments; the operands follow it.
Result<std::size_t> body_position(const Node& node) {
  for (std::size_t i = 0; i < node.args().size(); ++i) {
    if (node.arg(i).kind == Argument::Kind::Graph) return i;
  }
  return node_error(pass, node, "the call has no body");
}

Status check_mode(const Node& node, std::size_t body) {
  if (node.op() == set_grad) return {};
  const Argument& enabled =
      body >= 3 ? node.arg(2) : Argument::none();  // device, dtype, enabled, cache, body
  if (enabled.kind == Argument::Kind::Bool && !enabled.as_bool()) return {};
  return node_error(pass, node, "an autocast region that converts element types cannot be lowered",
                    "export the model outside of torch.autocast, or with .to(dtype)");
}

// Copies the body's nodes before `node` and returns what its results become.
Result<std::vector<Argument>> copy_body(Graph& graph, Node& node, const Graph& body,
                                        std::size_t first_operand) {
  std::unordered_map<const Value*, Argument> values;
  std::size_t operands = node.args().size() - first_operand;
  if (operands != body.inputs().size())
    return node_error(pass, node, "the body takes another number of operands");
  for (std::size_t i = 0; i < operands; ++i) values[body.inputs()[i]] = node.arg(first_operand + i);
  auto map_value = [&](Value* value) { return values.at(value); };
  for (const Node& inner : body.nodes()) {
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    std::vector<ResultSpec> results;
    for (const Argument& argument : inner.args()) args.push_back(graph.import(argument, map_value));
    for (const auto& [name, value] : inner.kwargs()) kwargs.push_back({name, graph.import(value, map_value)});
    for (const Value* result : inner.results()) results.push_back({result->name(), result->type()});
    Node* copy = graph.add(inner.op(), args, kwargs, results, &node);
    copy->debug_handle = inner.debug_handle;
    if (inner.source != nullptr) copy->source = graph.add_source(*inner.source);
    for (std::size_t i = 0; i < results.size(); ++i) values[inner.result(i)] = Argument::of(copy->result(i));
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
    return node_error(pass, node, "the body returns another number of results");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Value& result = *node.result(i);
    if (!result.has_uses()) continue;
    if (!outputs[i].is_value()) return node_error(pass, node, "the body returns a constant");
    graph.replace_uses(result, outputs[i].as_value());
  }
  graph.erase(node);
  return {};
}

// Inlines until only other control flow is left; a body may itself hold wrappers, which come in with it.
Status inline_graph(Graph& graph) {
  Node* node = graph.first();
  while (node != nullptr) {
    Node* before = node->previous();
    Node* next = node->next();
    if (node->op() == set_grad || node->op() == autocast) {
      TRY_STATUS(inline_call(graph, *node));
      node = before != nullptr ? before->next() : graph.first();
      continue;
    }
    for (const Argument& argument : node->args()) {
      if (argument.kind == Argument::Kind::Graph) {
        return node_error(pass, *node, "control flow cannot be lowered", "export the branch that is needed");
      }
    }
    node = next;
  }
  return {};
}

}  // namespace

Status inline_wrappers(Program& program, const NormaliseOptions&) {
  for (const auto& method : program.methods) {
    if (method->bodies.empty()) continue;
    TRY_STATUS(inline_graph(*method->graph));
    method->bodies.clear();
  }
  return {};
}

}  // namespace depute
