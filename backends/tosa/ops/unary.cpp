// Elementwise functions of one tensor, as one operator or a few.
#include <cmath>
#include <limits>
#include <numbers>

#include "emitter.h"

namespace depute::tosa::ops {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <Op op>
Check unary(Emitter& emit, const OpCall& call) {
  return emit.result(emit.add(op, {emit.input(call, "self")}));
}

// For functions of Emitter.
template <Tensor (*function)(Emitter& emit, const Tensor& x)>
Check by(Emitter& emit, const OpCall& call) {
  return emit.result(function(emit, emit.input(call, "self")));
}

Tensor negate(Emitter& emit, const Tensor& x) {
  return emit.negate(x);
}

Tensor square_root(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Pow, x, 0.5);
}

Tensor relu(Emitter& emit, const Tensor& x) {
  return emit.clamp(x, 0, infinity);
}

Tensor square(Emitter& emit, const Tensor& x) {
  return emit.mul(x, x);
}

Tensor log1p(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Log, {emit.add(Op::Add, x, 1)});
}

Tensor expm1(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Sub, {emit.add(Op::Exp, {x}), emit.number(1, x.dtype)});
}

Tensor silu(Emitter& emit, const Tensor& x) {
  return emit.mul(x, emit.add(Op::Sigmoid, {x}));
}

// min(max(x + 3, 0), 6) / 6
Tensor hardsigmoid(Emitter& emit, const Tensor& x) {
  return emit.mul(emit.clamp(emit.add(Op::Add, x, 3), 0, 6), 1.0 / 6);
}

Tensor hardswish(Emitter& emit, const Tensor& x) {
  return emit.mul(x, hardsigmoid(emit, x));
}

Tensor truncate(Emitter& emit, const Tensor& x) {
  const Tensor is_negative = emit.compare(Op::Greater, emit.number(0, x.dtype), x);
  return emit.select(is_negative, emit.add(Op::Ceil, {x}), emit.add(Op::Floor, {x}));
}

Tensor sign(Emitter& emit, const Tensor& x) {
  const Tensor zero = emit.number(0, x.dtype);
  const Tensor one = emit.number(1, x.dtype);
  const Tensor minus_one = emit.number(-1, x.dtype);
  const Tensor is_positive = emit.compare(Op::Greater, x, zero);
  const Tensor is_negative = emit.compare(Op::Greater, zero, x);
  return emit.select(is_positive, one, emit.select(is_negative, minus_one, zero));
}

Tensor is_nan(Emitter& emit, const Tensor& x) {
  return emit.add(Op::LogicalNot, {emit.compare(Op::Equal, x, x)});
}

Tensor invert(Emitter& emit, const Tensor& x) {
  return emit.add(x.dtype == DType::Bool ? Op::LogicalNot : Op::BitwiseNot, {x});
}

Tensor logical_not(Emitter& emit, const Tensor& x) {
  return emit.add(Op::LogicalNot, {emit.cast(x, DType::Bool)});
}

// x / 2 * (1 + erf(x / sqrt(2))), or with the tangent: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
Check gelu(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  Tensor curve;
  if (call["approximate"].as_symbol() == "tanh") {
    const Tensor cube = emit.mul(emit.mul(x, emit.mul(x, x)), 0.044715);
    curve = emit.add(Op::Tanh, {emit.mul(emit.add(Op::Add, {x, cube}), std::sqrt(2 / std::numbers::pi))});
  } else {
    curve = emit.add(Op::Erf, {emit.mul(x, std::numbers::sqrt2 / 2)});
  }
  return emit.result(emit.mul(emit.mul(x, 0.5), emit.add(Op::Add, curve, 1)));
}

Check pow(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const double exponent = call.number("exponent");
  if (exponent == 2) return emit.result(emit.mul(x, x));
  if (exponent == 3) return emit.result(emit.mul(emit.mul(x, x), x));
  if (exponent == 4) return emit.result(square(emit, square(emit, x)));
  if (exponent == 1) return emit.result(x);
  if (exponent == -1) return emit.result(emit.add(Op::Reciprocal, {x}));
  if (exponent == 0.5) return emit.result(square_root(emit, x));
  if (exponent == -0.5) return emit.result(emit.add(Op::Rsqrt, {x}));
  // TOSA defines no power of a negative number.
  return refuse_argument(call, "exponent", "-1, -0.5, 0.5, 1, 2, 3, 4");
}

Check leaky_relu(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Tensor scaled = emit.mul(x, call.number("negative_slope"));
  return emit.result(emit.select(emit.compare(Op::GreaterEqual, x, emit.number(0, x.dtype)), x, scaled));
}

// x > 0: scale * x; else alpha * scale * (exp(x * input_scale) - 1)
Check elu(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const double scale = call.number("scale");
  const Tensor curve = expm1(emit, emit.mul(emit.clamp(x, -infinity, 0), call.number("input_scale")));
  const Tensor is_positive = emit.compare(Op::Greater, x, emit.number(0, x.dtype));
  return emit.result(emit.select(is_positive, scale == 1 ? x : emit.mul(x, scale),
                                 emit.mul(curve, call.number("alpha") * scale)));
}

Check clamp(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const double min = call["min"].is_none() ? -infinity : call.number("min");
  const double max = call["max"].is_none() ? infinity : call.number("max");
  if (std::isnan(min) || std::isnan(max))
    return refuse_argument(call, std::isnan(min) ? "min" : "max", "a number");
  // PyTorch gives the greatest where the bounds cross.
  return emit.result(emit.clamp(x, std::min(min, max), max));
}

Check hardtanh(Emitter& emit, const OpCall& call) {
  return emit.result(emit.clamp(emit.input(call, "self"), call.number("min_val"), call.number("max_val")));
}

Check to_dtype(Emitter& emit, const OpCall& call) {
  return emit.result(emit.cast(emit.input(call, "self"), emit.result_dtype()));
}

Check copy(Emitter& emit, const OpCall& call) {
  return emit.result(emit.input(call, "self"));
}

}  // namespace

std::span<const OpRule> unary() {
  using enum IntegerForm;
  static constexpr OpRule rules[] = {
      {.op = "aten._to_copy.default", .translate = to_dtype, .integers = SameScale},
      {.op = "aten.abs.default", .translate = unary<Op::Abs>, .integers = Table},
      {.op = "aten.alias.default", .op_class = OpClass::Move, .translate = copy, .integers = SameScale},
      {.op = "aten.bitwise_not.default", .translate = by<invert>},
      {.op = "aten.ceil.default", .translate = unary<Op::Ceil>, .integers = Table},
      {.op = "aten.clamp.default", .translate = clamp, .integers = Clamp},
      {.op = "aten.clone.default", .op_class = OpClass::Move, .translate = copy, .integers = SameScale},
      {.op = "aten.cos.default", .translate = unary<Op::Cos>, .integers = Table},
      {.op = "aten.elu.default", .translate = elu, .integers = Table},
      {.op = "aten.erf.default", .translate = unary<Op::Erf>, .integers = Table},
      {.op = "aten.exp.default", .translate = unary<Op::Exp>, .integers = Table},
      {.op = "aten.expm1.default", .translate = by<expm1>, .integers = Table},
      {.op = "aten.floor.default", .translate = unary<Op::Floor>, .integers = Table},
      {.op = "aten.gelu.default", .translate = gelu, .integers = Table},
      {.op = "aten.hardsigmoid.default", .keep_whole = true, .translate = by<hardsigmoid>, .integers = Table},
      {.op = "aten.hardswish.default", .keep_whole = true, .translate = by<hardswish>, .integers = Table},
      {.op = "aten.hardtanh.default", .translate = hardtanh, .integers = Clamp},
      {.op = "aten.isnan.default", .translate = by<is_nan>},
      {.op = "aten.leaky_relu.default", .translate = leaky_relu, .integers = Table},
      {.op = "aten.log.default", .translate = unary<Op::Log>, .integers = Table},
      {.op = "aten.log1p.default", .translate = by<log1p>, .integers = Table},
      {.op = "aten.logical_not.default", .translate = by<logical_not>},
      {.op = "aten.neg.default", .translate = by<negate>, .integers = Table},
      {.op = "aten.pow.Tensor_Scalar",
       .conditions = "exponent -1, -0.5, 0.5, 1, 2, 3 or 4",
       .translate = pow,
       .integers = Table},
      {.op = "aten.reciprocal.default", .translate = unary<Op::Reciprocal>, .integers = Table},
      {.op = "aten.relu.default", .translate = by<relu>, .integers = Clamp},
      {.op = "aten.rsqrt.default", .translate = unary<Op::Rsqrt>, .integers = Table},
      {.op = "aten.sigmoid.default", .translate = unary<Op::Sigmoid>, .integers = Table},
      {.op = "aten.sign.default", .translate = by<sign>, .integers = Table},
      {.op = "aten.silu.default", .keep_whole = true, .translate = by<silu>, .integers = Table},
      {.op = "aten.sin.default", .translate = unary<Op::Sin>, .integers = Table},
      {.op = "aten.sqrt.default", .translate = by<square_root>, .integers = Table},
      {.op = "aten.square.default", .translate = by<square>, .integers = Table},
      {.op = "aten.tanh.default", .translate = unary<Op::Tanh>, .integers = Table},
      {.op = "aten.trunc.default", .translate = by<truncate>, .integers = Table},
      {.op = "dim_order_ops._to_dim_order_copy.default", .translate = to_dtype, .integers = SameScale},
  };
  return rules;
}

}  // namespace depute::tosa::ops
