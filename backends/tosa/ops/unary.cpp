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

// For functions of one step, or of steps that round nothing.
template <Tensor (*function)(Emitter& emit, const Tensor& x)>
Check exactly(Emitter& emit, const OpCall& call) {
  return emit.result(function(emit, emit.input(call, "self")));
}

// For functions of several steps.
template <Tensor (*function)(Emitter& emit, const Tensor& x)>
Check by(Emitter& emit, const OpCall& call) {
  return emit.result(emit.cast(function(emit, emit.precise(emit.input(call, "self"))), emit.result_dtype()));
}

Tensor absolute(Emitter& emit, const Tensor& x) {
  const Tensor wide = is_float(x.dtype) ? x : emit.cast(x, wide_integer(x.dtype));
  return emit.cast(emit.add(Op::Abs, {wide}), x.dtype);
}

Tensor negate(Emitter& emit, const Tensor& x) {
  return emit.negate(x);
}

// TOSA's POW is not defined for infinities.
Tensor square_root(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Reciprocal, {emit.add(Op::Rsqrt, {x})});
}

Tensor relu(Emitter& emit, const Tensor& x) {
  return emit.clamp(x, 0, infinity);
}

// TOSA multiplies integers of 8 and 16 bits to such of 32.
Tensor square(Emitter& emit, const Tensor& x) {
  return emit.cast(emit.mul(x, x), x.dtype);
}

Tensor magnitude(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Abs, {x});
}

Tensor is_below(Emitter& emit, const Tensor& x, double bound) {
  return emit.compare(Op::Greater, emit.number(bound, x.dtype), x);
}

// x * (factors[0] + x * (factors[1] + ...)), for small x.
Tensor series(Emitter& emit, const Tensor& x, std::initializer_list<double> factors) {
  Tensor sum;
  for (auto factor = std::rbegin(factors); factor != std::rend(factors); ++factor) {
    if (factor == std::rbegin(factors)) {
      sum = emit.number(*factor, x.dtype);
    } else {
      sum = emit.add(Op::Add, emit.mul(x, sum), *factor);
    }
  }
  return emit.mul(x, sum);
}

// The sum and the difference would lose the digits of small x.
constexpr double small = 0.1;

Tensor log1p(Emitter& emit, const Tensor& x) {
  const Tensor near_zero = series(emit, x, {1, -1.0 / 2, 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7});
  const Tensor otherwise = emit.add(Op::Log, {emit.add(Op::Add, x, 1)});
  return emit.select(is_below(emit, magnitude(emit, x), small), near_zero, otherwise);
}

Tensor exp_minus_one(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Sub, {emit.add(Op::Exp, {x}), emit.number(1, x.dtype)});
}

Tensor expm1(Emitter& emit, const Tensor& x) {
  const Tensor near_zero = series(emit, x, {1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120});
  const Tensor otherwise = exp_minus_one(emit, x);
  return emit.select(is_below(emit, magnitude(emit, x), small), near_zero, otherwise);
}

Tensor silu(Emitter& emit, const Tensor& x) {
  return emit.mul(x, emit.add(Op::Sigmoid, {x}));
}

// log(1 + exp(-|x|)), what softplus adds to a positive x
Tensor log_of_decay(Emitter& emit, const Tensor& x) {
  return log1p(emit, emit.add(Op::Exp, {emit.negate(magnitude(emit, x))}));
}

Tensor softplus_of(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Add, {emit.clamp(x, 0, infinity), log_of_decay(emit, x)});
}

// log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold
Check softplus(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.precise(emit.input(call, "self"));
  const double beta = call.number("beta");
  if (beta == 0) return refuse_argument(call, "beta", "other than 0");
  const Tensor scaled = beta == 1 ? x : emit.mul(x, beta);
  const Tensor curve = softplus_of(emit, scaled);
  const Tensor is_above = emit.compare(Op::Greater, scaled, emit.number(call.number("threshold"), x.dtype));
  const Tensor made = emit.select(is_above, x, beta == 1 ? curve : emit.mul(curve, 1 / beta));
  return emit.result(emit.cast(made, emit.result_dtype()));
}

Tensor mish(Emitter& emit, const Tensor& x) {
  return emit.mul(x, emit.add(Op::Tanh, {softplus_of(emit, x)}));
}

Tensor log_sigmoid(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Sub, {emit.clamp(x, -infinity, 0), log_of_decay(emit, x)});
}

// 0 inside of [-lambd, lambd], x outside
Check hardshrink(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Tensor limit = emit.number(call.number("lambd"), x.dtype);
  const Tensor is_within = emit.compare(Op::GreaterEqual, limit, magnitude(emit, x));
  return emit.result(emit.select(is_within, emit.number(0, x.dtype), x));
}

Check threshold(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Tensor limit = emit.number(call.number("threshold"), x.dtype);
  const Tensor is_below = emit.compare(Op::GreaterEqual, limit, x);
  return emit.result(emit.select(is_below, emit.number(call.number("value"), x.dtype), x));
}

Tensor log2(Emitter& emit, const Tensor& x) {
  return emit.mul(emit.add(Op::Log, {x}), 1 / std::numbers::ln2);
}

Tensor log10(Emitter& emit, const Tensor& x) {
  return emit.mul(emit.add(Op::Log, {x}), 1 / std::numbers::ln10);
}

Tensor tangent(Emitter& emit, const Tensor& x) {
  const Tensor divisor = emit.add(Op::Reciprocal, {emit.add(Op::Cos, {x})});
  return emit.mul(emit.add(Op::Sin, {x}), divisor);
}

Tensor hyperbolic_cosine(Emitter& emit, const Tensor& x) {
  const Tensor sum = emit.add(Op::Add, {emit.add(Op::Exp, {x}), emit.add(Op::Exp, {emit.negate(x)})});
  return emit.mul(sum, 0.5);
}

Tensor hyperbolic_sine(Emitter& emit, const Tensor& x) {
  const Tensor squared = emit.mul(x, x);
  const Tensor near_zero = emit.mul(
      x, emit.add(Op::Add, series(emit, squared, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880}), 1));
  const Tensor twice = emit.add(Op::Sub, {emit.add(Op::Exp, {x}), emit.add(Op::Exp, {emit.negate(x)})});
  const Tensor otherwise = emit.mul(twice, 0.5);
  return emit.select(is_below(emit, magnitude(emit, x), 1), near_zero, otherwise);
}

// Halves go to the even neighbor.
Tensor round_to_even(Emitter& emit, const Tensor& x) {
  const Tensor low = emit.add(Op::Floor, {x});
  const Tensor high = emit.add(Op::Add, low, 1);
  const Tensor rest = emit.add(Op::Sub, {x, low});
  const Tensor half = emit.number(0.5, x.dtype);
  const Tensor low_half = emit.mul(low, 0.5);
  const Tensor is_even = emit.compare(Op::Equal, emit.add(Op::Floor, {low_half}), low_half);
  const Tensor of_half = emit.select(is_even, low, high);
  const Tensor nearest = emit.select(emit.compare(Op::Greater, rest, half), high, low);
  return emit.select(emit.compare(Op::Equal, rest, half), of_half, nearest);
}

Tensor is_infinite(Emitter& emit, const Tensor& x) {
  const Tensor bound = emit.number(infinity, x.dtype);
  return emit.compare(Op::Equal, magnitude(emit, x), bound);
}

// log(x / (1 - x))
Check logit(Emitter& emit, const OpCall& call) {
  Tensor x = emit.precise(emit.input(call, "self"));
  if (!call["eps"].is_none()) x = emit.clamp(x, call.number("eps"), 1 - call.number("eps"));
  const Tensor rest = emit.add(Op::Sub, {emit.number(1, x.dtype), x});
  const Tensor logarithm = emit.add(Op::Log, {emit.mul(x, emit.add(Op::Reciprocal, {rest}))});
  return emit.result(emit.cast(logarithm, emit.result_dtype()));
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
  const Tensor floor = emit.add(Op::Floor, {x}), ceil = emit.add(Op::Ceil, {x});
  return emit.select(is_negative, ceil, floor);
}

Tensor sign(Emitter& emit, const Tensor& given) {
  const Tensor x = is_float(given.dtype) ? given : emit.cast(given, wide_integer(given.dtype));
  const Tensor zero = emit.number(0, x.dtype);
  const Tensor one = emit.number(1, x.dtype);
  const Tensor minus_one = emit.number(-1, x.dtype);
  const Tensor is_positive = emit.compare(Op::Greater, x, zero);
  const Tensor is_negative = emit.compare(Op::Greater, zero, x);
  return emit.cast(emit.select(is_positive, one, emit.select(is_negative, minus_one, zero)), given.dtype);
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
  const Tensor x = emit.precise(emit.input(call, "self"));
  Tensor curve;
  if (call["approximate"].as_symbol() == "tanh") {
    const Tensor cube = emit.mul(emit.mul(x, emit.mul(x, x)), 0.044715);
    curve = emit.add(Op::Tanh, {emit.mul(emit.add(Op::Add, {x, cube}), std::sqrt(2 / std::numbers::pi))});
  } else {
    curve = emit.add(Op::Erf, {emit.mul(x, std::numbers::sqrt2 / 2)});
  }
  const Tensor factor = emit.add(Op::Add, curve, 1);
  const Tensor made = emit.mul(emit.mul(x, 0.5), factor);
  return emit.result(emit.cast(made, emit.result_dtype()));
}

// exp(exponent * log(|x|)), with the sign of odd powers. TOSA's POW is not defined for infinities and NaN.
Tensor to_any_power(Emitter& emit, const Tensor& x, double exponent) {
  const Tensor wide = emit.cast(x, DType::F32);
  const Tensor logarithm = emit.add(Op::Log, {magnitude(emit, wide)});
  const Tensor power = emit.cast(emit.add(Op::Exp, {emit.mul(logarithm, exponent)}), x.dtype);
  if (exponent == 2 * std::trunc(exponent / 2)) return power;
  const bool is_whole = exponent == std::trunc(exponent);
  Tensor of_negative = emit.negate(power);
  if (!is_whole) {  // of -infinity PyTorch has that of infinity
    const Tensor is_least = emit.compare(Op::Equal, x, emit.number(-infinity, x.dtype));
    of_negative =
        emit.select(is_least, power, emit.number(std::numeric_limits<double>::quiet_NaN(), x.dtype));
  }
  return emit.select(is_below(emit, x, 0), of_negative, power);
}

Tensor to_power(Emitter& emit, const Tensor& x, double exponent) {
  if (exponent == 0) return emit.expand(emit.number(1, x.dtype), x.shape);
  if (exponent == 1) return x;
  if (exponent == 2) return square(emit, x);
  if (exponent == 3) return emit.mul(square(emit, x), x);
  if (exponent == 4) return square(emit, square(emit, x));
  if (exponent < 0 && exponent >= -4 && exponent == std::trunc(exponent))
    return emit.add(Op::Reciprocal, {to_power(emit, x, -exponent)});
  if (exponent == 0.5) return square_root(emit, x);
  if (exponent == -0.5) return emit.add(Op::Rsqrt, {x});
  return to_any_power(emit, x, exponent);
}

Check pow(Emitter& emit, const OpCall& call) {
  const double exponent = call.number("exponent");
  const DType dtype = emit.result_dtype();
  const Tensor given = emit.cast(emit.input(call, "self"), is_float(dtype) ? dtype : wide_integer(dtype));
  const Tensor x = emit.precise(given);
  if (!is_float(x.dtype) && (exponent < 0 || exponent > 4 || exponent != std::trunc(exponent)))
    return refuse_argument(call, "exponent", "0 to 4");
  return emit.result(emit.cast(to_power(emit, x, exponent), dtype));
}

Check leaky_relu(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const Tensor scaled = emit.mul(x, call.number("negative_slope"));
  return emit.result(emit.select(emit.compare(Op::GreaterEqual, x, emit.number(0, x.dtype)), x, scaled));
}

// x > 0: scale * x; else alpha * scale * (exp(x * input_scale) - 1)
Check elu(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.precise(emit.input(call, "self"));
  const double scale = call.number("scale");
  const Tensor curve = exp_minus_one(emit, emit.mul(emit.clamp(x, -infinity, 0), call.number("input_scale")));
  const Tensor is_positive = emit.compare(Op::Greater, x, emit.number(0, x.dtype));
  const Tensor otherwise = emit.mul(curve, call.number("alpha") * scale);
  const Tensor made = emit.select(is_positive, scale == 1 ? x : emit.mul(x, scale), otherwise);
  return emit.result(emit.cast(made, emit.result_dtype()));
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

// CAST makes i64 of i32 alone, which floats may exceed; TOSA 1.0 has i32 in its place.
Check to_dtype(Emitter& emit, const OpCall& call) {
  if (call.node()->result()->tensor().dtype == ScalarType::I64) {
    const Tensor x = emit.input(call, "self");
    if (is_float(x.dtype)) return Refusal{"dtype", "i64", "conversions of floats to other types"};
    return x.dtype == DType::I64 ? emit.result(x) : emit.result_i64(emit.cast(x, DType::I32));
  }
  return emit.result(emit.cast(emit.input(call, "self"), emit.result_dtype()));
}

Check copy(Emitter& emit, const OpCall& call) {
  return emit.result(emit.input(call, "self"));
}

}  // namespace

std::span<const OpRule> unary() {
  using enum IntegerForm;
  static constexpr OpRule rules[] = {
      {.op = "aten._to_copy.default", .gives_i64 = true, .translate = to_dtype, .integers = SameScale},
      {.op = "aten.abs.default", .translate = exactly<absolute>, .integers = Table},
      {.op = "aten.alias.default", .op_class = OpClass::Move, .translate = copy, .integers = SameScale},
      {.op = "aten.bitwise_not.default", .translate = exactly<invert>},
      {.op = "aten.ceil.default", .translate = unary<Op::Ceil>, .integers = Table},
      {.op = "aten.clamp.default", .translate = clamp, .integers = Clamp},
      {.op = "aten.clone.default", .op_class = OpClass::Move, .translate = copy, .integers = SameScale},
      {.op = "aten.cos.default", .translate = unary<Op::Cos>, .integers = Table},
      {.op = "aten.cosh.default", .translate = by<hyperbolic_cosine>, .integers = Table},
      {.op = "aten.elu.default", .translate = elu, .integers = Table},
      {.op = "aten.erf.default", .translate = unary<Op::Erf>, .integers = Table},
      {.op = "aten.exp.default", .translate = unary<Op::Exp>, .integers = Table},
      {.op = "aten.expm1.default", .translate = by<expm1>, .integers = Table},
      {.op = "aten.floor.default", .translate = unary<Op::Floor>, .integers = Table},
      {.op = "aten.gelu.default", .translate = gelu, .integers = Table},
      {.op = "aten.hardshrink.default", .keep_whole = true, .translate = hardshrink, .integers = Table},
      {.op = "aten.hardsigmoid.default", .keep_whole = true, .translate = by<hardsigmoid>, .integers = Table},
      {.op = "aten.hardswish.default", .keep_whole = true, .translate = by<hardswish>, .integers = Table},
      {.op = "aten.hardtanh.default", .translate = hardtanh, .integers = Clamp},
      {.op = "aten.isinf.default", .conditions = "floats", .translate = exactly<is_infinite>},
      {.op = "aten.isnan.default", .translate = exactly<is_nan>},
      {.op = "aten.leaky_relu.default", .translate = leaky_relu, .integers = Table},
      {.op = "aten.log.default", .translate = unary<Op::Log>, .integers = Table},
      {.op = "aten.log10.default", .translate = by<log10>, .integers = Table},
      {.op = "aten.log1p.default", .translate = by<log1p>, .integers = Table},
      {.op = "aten.log2.default", .translate = by<log2>, .integers = Table},
      {.op = "aten.log_sigmoid.default", .keep_whole = true, .translate = by<log_sigmoid>, .integers = Table},
      {.op = "aten.logical_not.default", .translate = exactly<logical_not>},
      {.op = "aten.logit.default", .translate = logit, .integers = Table},
      {.op = "aten.mish.default", .keep_whole = true, .translate = by<mish>, .integers = Table},
      {.op = "aten.neg.default", .translate = exactly<negate>, .integers = Table},
      {.op = "aten.pow.Tensor_Scalar",
       .conditions = "exponent -1, -0.5, 0.5, 1, 2, 3 or 4",
       .translate = pow,
       .integers = Table},
      {.op = "aten.reciprocal.default", .translate = unary<Op::Reciprocal>, .integers = Table},
      {.op = "aten.relu.default", .translate = exactly<relu>, .integers = Clamp},
      {.op = "aten.round.default", .conditions = "floats", .translate = by<round_to_even>, .integers = Table},
      {.op = "aten.rsqrt.default", .translate = unary<Op::Rsqrt>, .integers = Table},
      {.op = "aten.sigmoid.default", .translate = unary<Op::Sigmoid>, .integers = Table},
      {.op = "aten.sign.default", .translate = exactly<sign>, .integers = Table},
      {.op = "aten.silu.default", .keep_whole = true, .translate = by<silu>, .integers = Table},
      {.op = "aten.sin.default", .translate = unary<Op::Sin>, .integers = Table},
      {.op = "aten.sinh.default", .translate = by<hyperbolic_sine>, .integers = Table},
      {.op = "aten.softplus.default",
       .conditions = "beta is not 0",
       .keep_whole = true,
       .translate = softplus,
       .integers = Table},
      {.op = "aten.sqrt.default", .translate = by<square_root>, .integers = Table},
      {.op = "aten.square.default", .translate = by<square>, .integers = Table},
      {.op = "aten.tan.default", .translate = by<tangent>, .integers = Table},
      {.op = "aten.tanh.default", .translate = unary<Op::Tanh>, .integers = Table},
      {.op = "aten.threshold.default", .keep_whole = true, .translate = threshold, .integers = Table},
      {.op = "aten.trunc.default", .translate = exactly<truncate>, .integers = Table},
      {.op = "dim_order_ops._to_dim_order_copy.default",
       .gives_i64 = true,
       .translate = to_dtype,
       .integers = SameScale},
  };
  return rules;
}

}  // namespace depute::tosa::ops
