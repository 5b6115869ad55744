// Inverse trigonometric and hyperbolic functions, which TOSA does not have, by a polynomial of the arc tangent and by
// logarithms. In f32, to a few roundings.
#include <array>
#include <cmath>
#include <numbers>

#include "emitter.h"

namespace depute::tosa::ops {
namespace {

using std::numbers::pi;

Tensor plus(Emitter& emit, const Tensor& a, const Tensor& b) {
  return emit.add(Op::Add, {a, b});
}

Tensor minus(Emitter& emit, const Tensor& a, const Tensor& b) {
  return emit.add(Op::Sub, {a, b});
}

Tensor over(Emitter& emit, const Tensor& a, const Tensor& b) {
  return emit.mul(a, emit.add(Op::Reciprocal, {b}));
}

Tensor root(Emitter& emit, const Tensor& x) {
  return emit.add(Op::Reciprocal, {emit.add(Op::Rsqrt, {x})});
}

// `size` with the sign of `x`.
Tensor signed_as(Emitter& emit, const Tensor& x, const Tensor& size) {
  const Tensor opposite = emit.negate(size);
  return emit.select(emit.compare(Op::Greater, emit.number(0, x.dtype), x), opposite, size);
}

// Takes numbers from 0 to infinity: pi/2 - atan(1/x) above tan(3 pi/8), pi/4 + atan((x - 1) / (x + 1)) above tan(pi/8), and
// a polynomial in x^2 below.
Tensor positive_arc_tangent(Emitter& emit, const Tensor& x) {
  const double middle = std::tan(pi / 8);
  const double high = std::tan(3 * pi / 8);
  const Tensor is_high = emit.compare(Op::Greater, x, emit.number(high, x.dtype));
  const Tensor is_middle = emit.compare(Op::Greater, x, emit.number(middle, x.dtype));
  const Tensor one = emit.number(1, x.dtype);
  const Tensor above = plus(emit, x, one), below = minus(emit, x, one);
  const Tensor lower = emit.select(is_middle, over(emit, below, above), x);
  const Tensor reduced = emit.select(is_high, emit.negate(emit.add(Op::Reciprocal, {x})), lower);
  const Tensor zero = emit.number(0, x.dtype), eighth = emit.number(pi / 4, x.dtype);
  const Tensor lower_start = emit.select(is_middle, eighth, zero);
  const Tensor start = emit.select(is_high, emit.number(pi / 2, x.dtype), lower_start);
  const Tensor squared = emit.mul(reduced, reduced);
  // Taylor's series converges by 0.17 a step here.
  constexpr std::array factors = {1.0 / 17, -1.0 / 15, 1.0 / 13, -1.0 / 11, 1.0 / 9,
                                  -1.0 / 7, 1.0 / 5,   -1.0 / 3, 1.0};
  Tensor sum = emit.number(factors[0], x.dtype);
  for (std::size_t i = 1; i < factors.size(); ++i)
    sum = emit.add(Op::Add, emit.mul(squared, sum), factors[i]);
  return plus(emit, start, emit.mul(reduced, sum));
}

Tensor arc_tangent(Emitter& emit, const Tensor& x) {
  return signed_as(emit, x, positive_arc_tangent(emit, emit.add(Op::Abs, {x})));
}

// (1 - x) * (1 + x)
Tensor one_less_square(Emitter& emit, const Tensor& x) {
  const Tensor one = emit.number(1, x.dtype);
  const Tensor sum = plus(emit, one, x), difference = minus(emit, one, x);
  return emit.mul(difference, sum);
}

// atan(x / sqrt(1 - x^2))
Tensor arc_sine(Emitter& emit, const Tensor& x) {
  return arc_tangent(emit, emit.mul(x, emit.add(Op::Rsqrt, {one_less_square(emit, x)})));
}

Tensor arc_cosine(Emitter& emit, const Tensor& x) {
  const Tensor sine = arc_sine(emit, x);
  return minus(emit, emit.number(pi / 2, x.dtype), sine);
}

// log(1 + x) for x from 0 on, as log(u) * x / (u - 1) with u = 1 + x, which keeps the digits of small x.
Tensor log_of_one_more(Emitter& emit, const Tensor& x) {
  const Tensor one = emit.number(1, x.dtype);
  const Tensor sum = plus(emit, one, x);
  const Tensor logarithm = emit.add(Op::Log, {sum});
  const Tensor exact = emit.mul(logarithm, over(emit, x, minus(emit, sum, one)));
  const Tensor is_tiny = emit.compare(Op::Equal, sum, one);
  const Tensor is_large = emit.compare(Op::Greater, x, emit.number(16, x.dtype));
  return emit.select(is_large, logarithm, emit.select(is_tiny, x, exact));
}

// log(|x| + sqrt(x^2 + 1)) = log(1 + |x| + x^2 / (1 + sqrt(x^2 + 1))); log(2 |x|) where x^2 would overflow
Tensor hyperbolic_arc_sine(Emitter& emit, const Tensor& x) {
  const Tensor size = emit.add(Op::Abs, {x});
  const Tensor squared = emit.mul(size, size);
  const Tensor one = emit.number(1, x.dtype);
  const Tensor divisor = plus(emit, one, root(emit, plus(emit, squared, one)));
  const Tensor usual = log_of_one_more(emit, plus(emit, size, over(emit, squared, divisor)));
  const Tensor of_large = emit.add(Op::Add, emit.add(Op::Log, {size}), std::numbers::ln2);
  const Tensor is_large = emit.compare(Op::Greater, size, emit.number(1e4, x.dtype));
  return signed_as(emit, x, emit.select(is_large, of_large, usual));
}

// With d = x - 1: log(1 + d + sqrt(d) * sqrt(x + 1))
Tensor hyperbolic_arc_cosine(Emitter& emit, const Tensor& x) {
  const Tensor one = emit.number(1, x.dtype);
  const Tensor above = minus(emit, x, one);
  const Tensor root_of_sum = root(emit, plus(emit, x, one));
  const Tensor product = emit.mul(root(emit, above), root_of_sum);
  const Tensor usual = log_of_one_more(emit, plus(emit, above, product));
  const Tensor of_large = emit.add(Op::Add, emit.add(Op::Log, {x}), std::numbers::ln2);
  return emit.select(emit.compare(Op::Greater, x, emit.number(1e4, x.dtype)), of_large, usual);
}

// log(1 + 2 |x| / (1 - |x|)) / 2
Tensor hyperbolic_arc_tangent(Emitter& emit, const Tensor& x) {
  const Tensor size = emit.add(Op::Abs, {x});
  const Tensor one = emit.number(1, x.dtype);
  const Tensor rest = minus(emit, one, size);
  const Tensor ratio = over(emit, emit.mul(size, 2), rest);
  return signed_as(emit, x, emit.mul(log_of_one_more(emit, ratio), 0.5));
}

template <Tensor (*function)(Emitter&, const Tensor&)>
Check in_f32(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (!is_float(x.dtype)) return Refusal{"dtype", std::string(name(x.dtype)), "floats"};
  return emit.result(emit.cast(function(emit, emit.cast(x, DType::F32)), x.dtype));
}

}  // namespace

std::span<const OpRule> trigonometry() {
  static constexpr OpRule rules[] = {
      {.op = "aten.acos.default",
       .conditions = "floats",
       .translate = in_f32<arc_cosine>,
       .integers = IntegerForm::Table},
      {.op = "aten.acosh.default",
       .conditions = "floats",
       .translate = in_f32<hyperbolic_arc_cosine>,
       .integers = IntegerForm::Table},
      {.op = "aten.asin.default",
       .conditions = "floats",
       .translate = in_f32<arc_sine>,
       .integers = IntegerForm::Table},
      {.op = "aten.asinh.default",
       .conditions = "floats",
       .translate = in_f32<hyperbolic_arc_sine>,
       .integers = IntegerForm::Table},
      {.op = "aten.atan.default",
       .conditions = "floats",
       .translate = in_f32<arc_tangent>,
       .integers = IntegerForm::Table},
      {.op = "aten.atanh.default",
       .conditions = "floats",
       .translate = in_f32<hyperbolic_arc_tangent>,
       .integers = IntegerForm::Table},
  };
  return rules;
}

}  // namespace depute::tosa::ops
