// Removes effect tokens, by which torch's run_decompositions() orders calls with effects.
//
//   method forward(%t: token = token "t", %x: f32[2]) {
//     %u: token, %y: f32[2] = higher_order.with_effects(%t, shop.log.default, %x)
//     store token "t" = %u
//     return %y
//   }
//     ->
//   method forward(%x: f32[2]) { %y: f32[2] = shop.log.default(%x)  return %y }
//
// The order of such calls is that of the nodes, which all passes keep.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view with_effects = "higher_order.with_effects";

// Replaces a call under a token by the call alone. Its own results follow the new token.
Status unwrap(Graph& graph, Node& node) {
  const bool is_known = node.args().size() >= 2 && node.arg(0).is_value() &&
                        node.arg(1).kind == Argument::Kind::Operator && !node.results().empty();
  if (!is_known) return node_error(node, "expected a token, an operator and its arguments");
  std::vector<ResultSpec> specs;
  for (const Value* result : node.results().subspan(1)) {
    if (result->type().kind != Type::Kind::None)
      specs.push_back({result->name(), result->type()});
    else if (result->has_uses())
      return node_error(node, "a result that is None is used");
  }
  Node* call = graph.add(node.arg(1).as_symbol(), node.args().subspan(2), node.kwargs(), specs, &node);
  call->debug_handle = node.debug_handle;
  call->source = node.source;
  graph.replace_uses(*node.result(0), graph.own(*node.arg(0).as_value()));
  std::size_t own = 0;
  for (Value* result : node.results().subspan(1)) {
    if (result->type().kind != Type::Kind::None) graph.replace_uses(*result, call->result(own++));
  }
  graph.erase(node);
  return {};
}

// Removes the tokens that a method takes and returns.
void drop_from_signature(Method& method) {
  Graph& graph = *method.graph;
  std::vector<Argument> values;
  std::vector<OutputSpec> outputs;
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    if (method.outputs[i].kind == OutputSpec::Kind::Token) continue;
    values.push_back(graph.outputs()[i]);
    outputs.push_back(method.outputs[i]);
  }
  graph.set_outputs(values);
  method.outputs = std::move(outputs);
  for (std::size_t i = method.inputs.size(); i-- > 0;) {
    if (method.inputs[i].kind != InputSpec::Kind::Token || graph.inputs()[i]->has_uses()) continue;
    graph.erase_input(i);
    method.inputs.erase(method.inputs.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool has_tokens(const Method& method) {
  const auto is_token = [](const auto& spec) {
    return spec.kind == std::decay_t<decltype(spec)>::Kind::Token;
  };
  return std::ranges::any_of(method.inputs, is_token) || std::ranges::any_of(method.outputs, is_token);
}

}  // namespace

// Afterwards no method takes or returns a token, and no call in it is wrapped in higher_order.with_effects.
Status drop_tokens(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) {
    if (!has_tokens(*method)) continue;
    for (Node& node : method->graph->nodes()) {
      if (node.op() == with_effects) TRY_STATUS(unwrap(*method->graph, node));
    }
    drop_from_signature(*method);
  }
  return {};
}

}  // namespace depute
