// Elementwise functions of one tensor, as one node or a few nodes.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

template <NodeKind kind>
void unary(Emitter& emit, const OpCall& call) {
  emit.result(emit.add(kind, {emit.input(call, "self")}));
}

// XNNPACK's functions of f16 give 0 for the root of a negative number, and the sine of another angle where
// angles are large.
template <NodeKind kind>
ValueId in_f32(Emitter& emit, ValueId x) {
  if (emit.dtype(x) == ScalarType::F32) return emit.add(kind, {x});
  return emit.convert(emit.add(kind, {emit.convert(x, ScalarType::F32)}), emit.dtype(x));
}
template <NodeKind kind>
void unary_in_f32(Emitter& emit, const OpCall& call) {
  emit.result(in_f32<kind>(emit, emit.input(call, "self")));
}

void silu(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.add(NodeKind::Multiply, {x, emit.add(NodeKind::Sigmoid, {x})}));
}

void reciprocal(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.add(NodeKind::Div, {emit.number(1, x), x}));
}

// XNNPACK's own reciprocal square root uses an iteration that gives NaN for 0.
void rsqrt(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.add(NodeKind::Div, {emit.number(1, x), in_f32<NodeKind::SquareRoot>(emit, x)}));
}

// min(max(x / 6 + 1 / 2, 0), 1)
void hardsigmoid(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const ValueId sixth = emit.add(NodeKind::Multiply, {x, emit.number(1.0 / 6, x)});
  emit.result(emit.clamp(emit.add(NodeKind::Add, {sixth, emit.number(0.5, x)}), 0, 1));
}

void pow(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  const ValueId x = emit.input(call, "self");
  const double exponent = call["exponent"].as_double();
  if (exponent == -1) return emit.result(emit.add(Div, {emit.number(1, x), x}));
  if (exponent == -0.5) return rsqrt(emit, call);
  if (exponent == 0.5) return emit.result(in_f32<SquareRoot>(emit, x));
  if (exponent == 1) return emit.result(x);
  const ValueId square = emit.add(Square, {x});
  if (exponent == 2) return emit.result(square);
  emit.result(exponent == 3 ? emit.add(Multiply, {square, x}) : emit.add(Square, {square}));
}

using enum NodeKind;

}  // namespace

std::span<const OpRule> unary() {
  static constexpr double exponents[] = {-1, -0.5, 0.5, 1, 2, 3, 4};
  static constexpr Limit powers[] = {limit::one_of("exponent", exponents)};
  static constexpr OpRule rules[] = {
      {.op = "aten.abs.default", .translate = unary<Abs>},
      {.op = "aten.ceil.default", .translate = unary<Ceiling>},
      {.op = "aten.cos.default", .translate = unary_in_f32<Cos>},
      {.op = "aten.exp.default", .translate = unary<Exp>},
      {.op = "aten.floor.default", .translate = unary<Floor>},
      {.op = "aten.hardsigmoid.default", .keep_whole = true, .translate = hardsigmoid},
      {.op = "aten.hardswish.default", .keep_whole = true, .translate = unary<Hardswish>},
      {.op = "aten.log.default", .translate = unary<Log>},
      {.op = "aten.neg.default", .translate = unary<Negate>},
      {.op = "aten.pow.Tensor_Scalar", .forms = {powers}, .translate = pow},
      {.op = "aten.reciprocal.default", .translate = reciprocal},
      {.op = "aten.rsqrt.default", .translate = rsqrt},
      {.op = "aten.sigmoid.default", .translate = unary<Sigmoid>},
      {.op = "aten.silu.default", .keep_whole = true, .translate = silu},
      {.op = "aten.sin.default", .translate = unary_in_f32<Sin>},
      {.op = "aten.sqrt.default", .translate = unary_in_f32<SquareRoot>},
      {.op = "aten.square.default", .translate = unary<Square>},
      {.op = "aten.tanh.default", .translate = unary<Tanh>},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
