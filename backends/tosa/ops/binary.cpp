// Elementwise functions of two tensors, comparisons, and choices between tensors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "emitter.h"

namespace depute::tosa::ops {
namespace {

// The two operands, either of which may be a number, in one type.
struct Operands {
  Tensor a;
  Tensor b;
};

DType common_type(Emitter& emit, const OpCall& call, std::string_view a, std::string_view b) {
  const Value* value = call.value(a) != nullptr ? call.value(a) : call.value(b);
  const DType dtype = emit.input(*value).dtype;
  // Integers of 8 and 16 bits are computed as such of 32 bits.
  return is_float(dtype) || dtype == DType::Bool ? dtype : wide_integer(dtype);
}

Operands operands(Emitter& emit, const OpCall& call) {
  const DType dtype = common_type(emit, call, "self", "other");
  return {emit.cast(emit.operand(call, "self", dtype), dtype),
          emit.cast(emit.operand(call, "other", dtype), dtype)};
}

// The result has the type of the program's, of which the operands' type is the same or a wider one.
Check result_of(Emitter& emit, const Tensor& result) {
  return emit.result(emit.cast(result, emit.result_dtype()));
}

template <Op op>
Check binary(Emitter& emit, const OpCall& call) {
  const auto [a, b] = operands(emit, call);
  return result_of(emit, emit.add(op, {a, b}));
}

// a + alpha * b
template <Op op>
Check sum(Emitter& emit, const OpCall& call) {
  const auto [a, b] = operands(emit, call);
  const double alpha = call.number("alpha");
  if (!is_float(b.dtype) && alpha != std::trunc(alpha)) return refuse_argument(call, "alpha", "an integer");
  return result_of(emit, emit.add(op, {a, alpha == 1 ? b : emit.mul(b, alpha)}));
}

Check rsub(Emitter& emit, const OpCall& call) {
  const auto [a, b] = operands(emit, call);
  const double alpha = call.number("alpha");
  if (!is_float(b.dtype) && alpha != std::trunc(alpha)) return refuse_argument(call, "alpha", "an integer");
  return result_of(emit, emit.add(Op::Sub, {b, alpha == 1 ? a : emit.mul(a, alpha)}));
}

Check mul(Emitter& emit, const OpCall& call) {
  const auto [a, b] = operands(emit, call);
  if (a.dtype == DType::Bool) return emit.result(emit.add(Op::LogicalAnd, {a, b}));
  return result_of(emit, emit.mul(a, b));
}

Tensor quotient(Emitter& emit, const Tensor& a, const Tensor& b) {
  return emit.mul(a, emit.add(Op::Reciprocal, {b}));
}

Check div(Emitter& emit, const OpCall& call) {
  const auto [a, b] = operands(emit, call);
  if (!is_float(a.dtype)) return Refusal{"dtype", std::string(name(a.dtype)), "floats"};
  const Tensor x = emit.precise(a);
  if (!call["other"].is_value()) return result_of(emit, emit.mul(x, 1.0 / call.number("other")));
  return result_of(emit, quotient(emit, x, emit.precise(b)));
}

// --- whole quotients and what is left of the dividend

// `whole` is rounded towards zero, or down; `rest` has the sign of the dividend, or of the divisor.
struct Division {
  Tensor whole;
  Tensor rest;
};

enum class Rounded : std::uint8_t { TowardsZero, Down };

Tensor is_negative(Emitter& emit, const Tensor& x) {
  return emit.compare(Op::Greater, emit.number(0, x.dtype), x);
}

Tensor have_other_signs(Emitter& emit, const Tensor& a, const Tensor& b) {
  return emit.add(Op::LogicalXor, {is_negative(emit, a), is_negative(emit, b)});
}

Division rounded_down(Emitter& emit, const Division& division, const Tensor& b) {
  const Tensor has_rest =
      emit.add(Op::LogicalNot, {emit.compare(Op::Equal, division.rest, emit.number(0, b.dtype))});
  const Tensor is_above = emit.add(Op::LogicalAnd, {has_rest, have_other_signs(emit, division.rest, b)});
  return {emit.select(is_above, emit.add(Op::Sub, {division.whole, emit.number(1, b.dtype)}), division.whole),
          emit.select(is_above, emit.add(Op::Add, {division.rest, b}), division.rest)};
}

// A number as a sum of two with half the digits, whose products with others are exact.
Operands halves(Emitter& emit, const Tensor& x) {
  const Tensor scaled = emit.mul(x, 4097);
  const Tensor high = emit.add(Op::Sub, {scaled, emit.add(Op::Sub, {scaled, x})});
  return {high, emit.add(Op::Sub, {x, high})};
}

// a - whole * b, without the rounding of the product.
Tensor exact_rest(Emitter& emit, const Tensor& a, const Tensor& whole, const Tensor& b) {
  const Tensor product = emit.mul(whole, b);
  const Operands x = halves(emit, whole);
  const Operands y = halves(emit, b);
  Tensor error = emit.add(Op::Sub, {emit.mul(x.a, y.a), product});
  error = emit.add(Op::Add, {error, emit.mul(x.a, y.b)});
  error = emit.add(Op::Add, {error, emit.mul(x.b, y.a)});
  error = emit.add(Op::Add, {error, emit.mul(x.b, y.b)});
  return emit.add(Op::Sub, {emit.add(Op::Sub, {a, product}), error});
}

// The quotient as a division rounds it, of which PyTorch cuts the fraction off.
Tensor rounded_quotient(Emitter& emit, const Tensor& a, const Tensor& b) {
  const Tensor inverse = emit.add(Op::Reciprocal, {b});
  const Tensor near = emit.mul(a, inverse);
  const Tensor better = emit.add(Op::Add, {near, emit.mul(exact_rest(emit, a, near, b), inverse)});
  return emit.select(emit.compare(Op::Equal, better, better), better, near);
}

// Divides positive f32 numbers with a whole quotient, exact below 2^24: the product with the reciprocal may be one off,
// which the rest shows and corrects.
Division divided_positive(Emitter& emit, const Tensor& a, const Tensor& b) {
  const Tensor one = emit.number(1, a.dtype);
  const Tensor inverse = emit.add(Op::Reciprocal, {b});
  const Tensor first = emit.add(Op::Floor, {emit.mul(a, inverse)});
  const Tensor first_rest = exact_rest(emit, a, first, b);
  const Tensor more = emit.add(Op::Floor, {emit.mul(first_rest, inverse)});
  const Tensor rest = emit.add(Op::Sub, {first_rest, emit.mul(more, b)});
  const Tensor is_above = is_negative(emit, rest);
  const Tensor is_below = emit.compare(Op::GreaterEqual, rest, b);
  const Tensor up = emit.select(is_below, one, emit.number(0, a.dtype));
  const Tensor step = emit.select(is_above, emit.number(-1, a.dtype), up);
  const Tensor correction = emit.add(Op::Add, {more, step});
  const Tensor is_known = emit.compare(Op::Equal, correction, correction);
  return {emit.select(is_known, emit.add(Op::Add, {first, correction}), first),
          emit.add(Op::Sub, {rest, emit.mul(step, b)})};
}

Division divided(Emitter& emit, const Tensor& a, const Tensor& b, Rounded rounded) {
  Division result;
  if (is_float(a.dtype)) {
    const Tensor divisor = emit.add(Op::Abs, {b}), dividend = emit.add(Op::Abs, {a});
    const Division positive = divided_positive(emit, dividend, divisor);
    const Tensor below_zero = is_negative(emit, quotient(emit, a, b));  // also for a divisor of -0
    const Tensor whole = emit.select(below_zero, emit.negate(positive.whole), positive.whole);
    const Tensor opposite = emit.negate(positive.rest);
    result = {whole, emit.select(is_negative(emit, a), opposite, positive.rest)};
  } else {
    const Tensor whole = emit.add(Op::IntDiv, {a, b});
    result = {whole, emit.add(Op::Sub, {a, emit.mul(whole, b)})};
  }
  return rounded == Rounded::Down ? rounded_down(emit, result, b) : result;
}

// Divisions by zero fail in PyTorch.
Check check_divisor(const OpCall& call, const Tensor& a) {
  if (a.dtype == DType::Bool) return Refusal{"dtype", "bool", "numbers"};
  if (!is_float(a.dtype) && call["other"].is_number() && call.number("other") == 0)
    return refuse_argument(call, "other", "a number other than 0");
  return {};
}

Check div_by_mode(Emitter& emit, const OpCall& call) {
  if (call["rounding_mode"].is_none()) return div(emit, call);
  auto [a, b] = operands(emit, call);
  DEPUTE_REFUSE_IF(check_divisor(call, a));
  if (is_float(a.dtype)) {
    a = emit.cast(a, DType::F32);
    b = emit.cast(b, DType::F32);
  }
  const Rounded rounded = call.text("rounding_mode") == "floor" ? Rounded::Down : Rounded::TowardsZero;
  if (is_float(a.dtype) && rounded == Rounded::TowardsZero) {
    const Tensor made = rounded_quotient(emit, a, b);
    const Tensor floor = emit.add(Op::Floor, {made}), ceil = emit.add(Op::Ceil, {made});
    return result_of(emit, emit.select(is_negative(emit, made), ceil, floor));
  }
  return result_of(emit, divided(emit, a, b, rounded).whole);
}

template <Rounded rounded>
Check rest(Emitter& emit, const OpCall& call) {
  auto [a, b] = operands(emit, call);
  DEPUTE_REFUSE_IF(check_divisor(call, a));
  if (is_float(a.dtype)) {
    a = emit.cast(a, DType::F32);
    b = emit.cast(b, DType::F32);
  }
  return result_of(emit, divided(emit, a, b, rounded).rest);
}

template <Op op>
Check logical(Emitter& emit, const OpCall& call) {
  return emit.result(emit.add(op, {emit.cast(emit.input(call, "self"), DType::Bool),
                                   emit.cast(emit.input(call, "other"), DType::Bool)}));
}

// Combines bools, or the bits of integers.
template <Op of_bools, Op of_bits>
Check bitwise(Emitter& emit, const OpCall& call) {
  const DType dtype = emit.result_dtype();
  const Tensor a = emit.cast(emit.operand(call, "self", dtype), dtype);
  const Tensor b = emit.cast(emit.operand(call, "other", dtype), dtype);
  return emit.result(emit.add(dtype == DType::Bool ? of_bools : of_bits, {a, b}));
}

// Numbers of bits are within the type, as normalization makes sure.
template <Op op>
Check shift(Emitter& emit, const OpCall& call) {
  const DType dtype = emit.result_dtype();
  const Tensor a = emit.cast(emit.operand(call, "self", dtype), dtype);
  const Tensor b = emit.cast(emit.operand(call, "other", dtype), dtype);
  if (op == Op::ArithmeticRightShift) return emit.result(emit.add(op, {a, b}, Shift{}));
  return emit.result(emit.add(op, {a, b}));
}

enum class Side : std::uint8_t { AsGiven, Swapped };

template <Op op, Side side = Side::AsGiven, bool is_negated = false>
Check compare(Emitter& emit, const OpCall& call) {
  auto [a, b] = operands(emit, call);
  if (!is_float(a.dtype) && call["other"].is_number() &&
      call.number("other") != std::trunc(call.number("other")))
    return refuse_argument(call, "other", "an integer");
  if (a.dtype == DType::Bool) {
    a = emit.cast(a, DType::I32);
    b = emit.cast(b, DType::I32);
  }
  const Tensor result = side == Side::Swapped ? emit.compare(op, b, a) : emit.compare(op, a, b);
  return emit.result(is_negated ? emit.add(Op::LogicalNot, {result}) : result);
}

Check where(Emitter& emit, const OpCall& call) {
  const DType dtype = emit.result_dtype();
  const Tensor condition = emit.cast(emit.input(call, "condition"), DType::Bool);
  const auto value = [&](std::string_view name) { return emit.cast(emit.operand(call, name, dtype), dtype); };
  const Tensor other = value("other"), self = value("self");
  return emit.result(emit.select(condition, self, other));
}

// exp(y * log(|x|)). TOSA's POW is not defined for infinities and NaN. Of negative numbers there are whole powers.
Tensor power_of(Emitter& emit, const Tensor& x, const Tensor& y) {
  const Tensor one = emit.number(1, x.dtype);
  const Tensor size = emit.add(Op::Abs, {x});
  const Tensor is_one = emit.add(Op::LogicalOr, {emit.compare(Op::Equal, size, one),
                                                 emit.compare(Op::Equal, y, emit.number(0, x.dtype))});
  const Tensor positive =
      emit.select(is_one, one, emit.add(Op::Exp, {emit.mul(y, emit.add(Op::Log, {size}))}));
  const auto is_whole = [&](const Tensor& number) {
    return emit.compare(Op::Equal, emit.add(Op::Floor, {number}), number);
  };
  const Tensor nan = emit.number(std::numeric_limits<double>::quiet_NaN(), x.dtype);
  const Tensor least = emit.number(-std::numeric_limits<double>::infinity(), x.dtype);
  const Tensor is_least = emit.compare(Op::Equal, x, least);
  const Tensor is_minus_zero = emit.compare(Op::Equal, emit.add(Op::Reciprocal, {x}), least);
  const Tensor of_rest = emit.select(emit.add(Op::LogicalOr, {is_least, is_minus_zero}), positive, nan);
  const Tensor opposite = emit.negate(positive);
  const Tensor of_odd = emit.select(is_whole(y), opposite, of_rest);
  const Tensor of_negative = emit.select(is_whole(emit.mul(y, 0.5)), positive, of_odd);
  const Tensor has_minus = emit.add(Op::LogicalOr, {is_negative(emit, x), is_minus_zero});
  return emit.select(has_minus, of_negative, positive);
}

Check power(Emitter& emit, const OpCall& call) {
  const DType dtype = emit.result_dtype();
  if (!is_float(dtype)) return Refusal{"dtype", std::string(name(dtype)), "floats"};
  const auto wide = [&](std::string_view name) {
    return emit.cast(emit.cast(emit.operand(call, name, dtype), dtype), DType::F32);
  };
  const double base = call["self"].is_number() ? call.number("self") : 0;
  if (base > 0 && base != 1)
    return result_of(emit, emit.add(Op::Exp, {emit.mul(wide("exponent"), std::log(base))}));
  const Tensor exponent = wide("exponent"), self = wide("self");
  return result_of(emit, power_of(emit, self, exponent));
}

// PyTorch gives the greatest where the bounds cross.
Check clamp_by_tensors(Emitter& emit, const OpCall& call) {
  const DType dtype = emit.result_dtype();
  Tensor x = emit.cast(emit.input(call, "self"), is_float(dtype) ? dtype : wide_integer(dtype));
  if (!call["min"].is_none())
    x = emit.add(Op::Maximum, {x, emit.cast(emit.operand(call, "min", x.dtype), x.dtype)});
  if (!call["max"].is_none())
    x = emit.add(Op::Minimum, {x, emit.cast(emit.operand(call, "max", x.dtype), x.dtype)});
  return result_of(emit, x);
}

// --- integers

// An operand of i32: a tensor's integers, or numbers that are constants.
struct WideOperand {
  std::optional<Integers> integers;
  std::vector<float> numbers;
  Dims sizes;
  double scale = 0;
};

// An operand without integers must be a constant.
std::optional<WideOperand> wide_operand(Emitter& emit, const OpCall& call, std::string_view name) {
  WideOperand operand;
  const Value* value = call.value(name);
  if (value == nullptr) {
    operand.numbers = {static_cast<float>(call.number(name))};
    return operand;
  }
  operand.integers = emit.integers(*value);
  if (operand.integers) {
    operand.scale = operand.integers->quantization.scale;
    return operand;
  }
  const auto constant = emit.constant_floats(*value);
  if (!constant || constant->base.storage->is_elided()) return std::nullopt;
  operand.numbers = weights::to_floats(*constant);
  operand.sizes = constant->sizes();
  if (std::ranges::any_of(operand.numbers, [](float number) { return !std::isfinite(number); }))
    return std::nullopt;
  return operand;
}

int bits_of(const WideOperand& operand) {
  return operand.integers ? operand.integers->quantization.bits : 8;
}

double largest(std::span<const float> numbers) {
  double result = 0;
  for (const float number : numbers) result = std::max(result, std::abs(static_cast<double>(number)));
  return result;
}

// The operand as multiples of `scale`.
Tensor widened(Emitter& emit, const WideOperand& operand, double scale) {
  if (operand.integers)
    return emit.rescale(operand.integers->tensor, operand.integers->quantization.zero_point, DType::I32, 0,
                        operand.scale / scale);
  std::vector<std::int32_t> integers;
  for (const float number : operand.numbers)
    integers.push_back(static_cast<std::int32_t>(std::nearbyint(number / scale)));
  return emit.constant(weights::constant_of(
      "", make_data<std::int32_t>(ScalarType::I32, operand.sizes, std::span<const std::int32_t>(integers))));
}

// A scale that is finer than the operands' by as many bits as fit into i32 with their sum.
double fine_scale(const WideOperand& a, const WideOperand& b) {
  const int spare = 27 - std::max(bits_of(a), bits_of(b));
  return std::max(std::ldexp(std::max(a.scale, b.scale), -spare),
                  std::ldexp(std::max(largest(a.numbers), largest(b.numbers)), -28));
}

template <Op op>
Check sum_of_two(Emitter& emit, const OpCall& call) {
  if (!translate_by_table(emit, call)) return {};
  emit.forget_refusal();
  const auto result = emit.wanted(*call.node()->result());
  auto a = wide_operand(emit, call, "self");
  auto b = wide_operand(emit, call, "other");
  const double alpha = call.number("alpha");
  if (!result || !a || !b || alpha == 0) return refuse_integers(result ? no_integers : not_quantized);
  b->scale *= std::abs(alpha);
  for (float& number : b->numbers) number *= static_cast<float>(std::abs(alpha));
  const double scale = fine_scale(*a, *b);
  constexpr Op other = op == Op::Add ? Op::Sub : Op::Add;
  const Tensor sum = emit.add(alpha > 0 ? op : other, {widened(emit, *a, scale), widened(emit, *b, scale)});
  return emit.integer_result(emit.rescale(sum, 0, result->dtype(), result->zero_point, scale / result->scale),
                             *result);
}

// Numbers of a constant become integers of 16 bits.
Check product_of_two(Emitter& emit, const OpCall& call) {
  if (!translate_by_table(emit, call)) return {};
  emit.forget_refusal();
  const auto result = emit.wanted(*call.node()->result());
  auto a = wide_operand(emit, call, "self");
  auto b = wide_operand(emit, call, "other");
  if (!result || !a || !b) return refuse_integers(result ? no_integers : not_quantized);
  for (WideOperand* operand : {&*a, &*b}) {
    if (!operand->integers) operand->scale = std::max(largest(operand->numbers), 1e-30) / 32767;
  }
  const Tensor y = widened(emit, *b, b->scale), x = widened(emit, *a, a->scale);
  const Tensor product = emit.mul(x, y);
  return emit.integer_result(
      emit.rescale(product, 0, result->dtype(), result->zero_point, a->scale * b->scale / result->scale),
      *result);
}

// In the result's scale, since the order of numbers stays when they are quantized.
template <Op op>
Check extreme_of_two(Emitter& emit, const OpCall& call) {
  const auto result = emit.wanted(*call.node()->result());
  if (!result) return refuse_integers(not_quantized);
  emit.compute_in(*result);
  const auto wide = [&](std::string_view name) {
    return emit.rescale(emit.input(call, name), 0, DType::I32, 0, 1);
  };
  const Tensor made = emit.add(op, {wide("self"), wide("other")});
  return emit.integer_result(emit.rescale(made, 0, result->dtype(), 0, 1), *result);
}

// Both operands in multiples of one scale, finer than theirs.
template <Op op, Side side = Side::AsGiven, bool is_negated = false>
Check compare_integers(Emitter& emit, const OpCall& call) {
  const auto a = wide_operand(emit, call, "self");
  const auto b = wide_operand(emit, call, "other");
  if (!a || !b || (!a->integers && !b->integers)) return refuse_integers(no_integers);
  const double scale = fine_scale(*a, *b);
  const Tensor x = widened(emit, *a, scale);
  const Tensor y = widened(emit, *b, scale);
  const Tensor result = side == Side::Swapped ? emit.compare(op, y, x) : emit.compare(op, x, y);
  return emit.result(is_negated ? emit.add(Op::LogicalNot, {result}) : result);
}

}  // namespace

std::span<const OpRule> binary() {
  using enum Op;
  constexpr Side swapped = Side::Swapped;
  static constexpr OpRule rules[] = {
      {.op = "aten.add.Scalar",
       .translate = sum<Add>,
       .integers = IntegerForm::Own,
       .translate_integers = sum_of_two<Add>},
      {.op = "aten.add.Tensor",
       .translate = sum<Add>,
       .integers = IntegerForm::Own,
       .translate_integers = sum_of_two<Add>},
      {.op = "aten.bitwise_and.Scalar", .translate = bitwise<LogicalAnd, BitwiseAnd>},
      {.op = "aten.bitwise_and.Tensor", .translate = bitwise<LogicalAnd, BitwiseAnd>},
      {.op = "aten.bitwise_or.Scalar", .translate = bitwise<LogicalOr, BitwiseOr>},
      {.op = "aten.bitwise_or.Tensor", .translate = bitwise<LogicalOr, BitwiseOr>},
      {.op = "aten.bitwise_xor.Scalar", .translate = bitwise<LogicalXor, BitwiseXor>},
      {.op = "aten.bitwise_xor.Tensor", .translate = bitwise<LogicalXor, BitwiseXor>},
      {.op = "aten.bitwise_left_shift.Tensor",
       .conditions = "integers",
       .translate = shift<LogicalLeftShift>},
      {.op = "aten.bitwise_right_shift.Tensor",
       .conditions = "integers",
       .translate = shift<ArithmeticRightShift>},
      {.op = "aten.clamp.Tensor", .translate = clamp_by_tensors},
      {.op = "aten.div.Scalar", .conditions = "floats", .translate = div, .integers = IntegerForm::Table},
      {.op = "aten.div.Tensor", .conditions = "floats", .translate = div, .integers = IntegerForm::Table},
      {.op = "aten.div.Tensor_mode", .translate = div_by_mode},
      {.op = "aten.eq.Scalar",
       .translate = compare<Equal>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Equal>},
      {.op = "aten.eq.Tensor",
       .translate = compare<Equal>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Equal>},
      {.op = "aten.fmod.Scalar", .translate = rest<Rounded::TowardsZero>},
      {.op = "aten.fmod.Tensor", .translate = rest<Rounded::TowardsZero>},
      {.op = "aten.ge.Scalar",
       .translate = compare<GreaterEqual>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<GreaterEqual>},
      {.op = "aten.ge.Tensor",
       .translate = compare<GreaterEqual>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<GreaterEqual>},
      {.op = "aten.gt.Scalar",
       .translate = compare<Greater>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Greater>},
      {.op = "aten.gt.Tensor",
       .translate = compare<Greater>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Greater>},
      {.op = "aten.le.Scalar",
       .translate = compare<GreaterEqual, swapped>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<GreaterEqual, swapped>},
      {.op = "aten.le.Tensor",
       .translate = compare<GreaterEqual, swapped>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<GreaterEqual, swapped>},
      {.op = "aten.logical_and.default", .translate = logical<LogicalAnd>},
      {.op = "aten.logical_or.default", .translate = logical<LogicalOr>},
      {.op = "aten.logical_xor.default", .translate = logical<LogicalXor>},
      {.op = "aten.lt.Scalar",
       .translate = compare<Greater, swapped>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Greater, swapped>},
      {.op = "aten.lt.Tensor",
       .translate = compare<Greater, swapped>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Greater, swapped>},
      {.op = "aten.maximum.default",
       .translate = binary<Maximum>,
       .integers = IntegerForm::Own,
       .translate_integers = extreme_of_two<Maximum>},
      {.op = "aten.minimum.default",
       .translate = binary<Minimum>,
       .integers = IntegerForm::Own,
       .translate_integers = extreme_of_two<Minimum>},
      {.op = "aten.mul.Scalar",
       .translate = mul,
       .integers = IntegerForm::Own,
       .translate_integers = product_of_two},
      {.op = "aten.mul.Tensor",
       .translate = mul,
       .integers = IntegerForm::Own,
       .translate_integers = product_of_two},
      {.op = "aten.ne.Scalar",
       .translate = compare<Equal, Side::AsGiven, true>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Equal, Side::AsGiven, true>},
      {.op = "aten.ne.Tensor",
       .translate = compare<Equal, Side::AsGiven, true>,
       .integers = IntegerForm::Own,
       .translate_integers = compare_integers<Equal, Side::AsGiven, true>},
      {.op = "aten.pow.Scalar", .conditions = "floats", .translate = power},
      {.op = "aten.pow.Tensor_Tensor",
       .conditions = "floats",
       .translate = power,
       .integers = IntegerForm::Table},
      {.op = "aten.remainder.Scalar", .translate = rest<Rounded::Down>, .integers = IntegerForm::Table},
      {.op = "aten.remainder.Tensor", .translate = rest<Rounded::Down>, .integers = IntegerForm::Table},
      {.op = "aten.rsub.Scalar", .translate = rsub, .integers = IntegerForm::Table},
      {.op = "aten.sub.Scalar",
       .translate = sum<Sub>,
       .integers = IntegerForm::Own,
       .translate_integers = sum_of_two<Sub>},
      {.op = "aten.sub.Tensor",
       .translate = sum<Sub>,
       .integers = IntegerForm::Own,
       .translate_integers = sum_of_two<Sub>},
      {.op = "aten.where.self", .translate = where, .integers = IntegerForm::SameScale},
  };
  return rules;
}

}  // namespace depute::tosa::ops
