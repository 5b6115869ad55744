// gelu: the erf form is one node. The tanh form becomes a sigmoid, since (1 + tanh u) / 2 = sigmoid(2 u).
#include <cmath>
#include <numbers>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

bool is_tanh_form(const OpCall& call) {
  return call["approximate"].as_symbol() == "tanh";
}

// x * sigmoid(x * (2 c + 2 c * 0.044715 * x^2)), c = sqrt(2 / pi)
void translate_gelu(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  if (!is_tanh_form(call)) return emit.result(emit.add(NodeKind::Gelu, {x}));
  const double c = 2 * std::sqrt(2 / std::numbers::pi);
  const ValueId square = emit.add(NodeKind::Square, {x});
  const ValueId cubic = emit.add(NodeKind::Multiply, {square, emit.number(c * 0.044715, x)});
  const ValueId factor = emit.add(NodeKind::Add, {cubic, emit.number(c, x)});
  const ValueId gate = emit.add(NodeKind::Sigmoid, {emit.add(NodeKind::Multiply, {x, factor})});
  emit.result(emit.add(NodeKind::Multiply, {x, gate}));
}

}  // namespace

std::span<const OpRule> gelu() {
  static constexpr Limit by_tanh[] = {limit::text("approximate", "tanh")};
  static constexpr Limit by_erf[] = {limit::dtype("self", ScalarType::F32)};
  static constexpr OpRule rules[] = {
      {.op = "aten.gelu.default",
       .forms = {by_tanh, by_erf},
       .keep_whole = true,
       .translate = translate_gelu},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
