// Elementwise functions of two tensors, comparisons, and choices between tensors.
#include <algorithm>
#include <cmath>
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
  return is_float(dtype) || dtype == DType::Bool ? dtype : DType::I32;
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
  if (!call["other"].is_value()) return emit.result(emit.mul(a, 1.0 / call.number("other")));
  return emit.result(quotient(emit, a, b));
}

Tensor floor_of_quotient(Emitter& emit, const Tensor& a, const Tensor& b) {
  return emit.add(Op::Floor, {quotient(emit, a, b)});
}

template <Op op>
Check logical(Emitter& emit, const OpCall& call) {
  return emit.result(emit.add(op, {emit.cast(emit.input(call, "self"), DType::Bool),
                                   emit.cast(emit.input(call, "other"), DType::Bool)}));
}

// Of bools, or of the bits of integers.
template <Op of_bools, Op of_bits>
Check bitwise(Emitter& emit, const OpCall& call) {
  const DType dtype = emit.result_dtype();
  const Tensor a = emit.cast(emit.operand(call, "self", dtype), dtype);
  const Tensor b = emit.cast(emit.operand(call, "other", dtype), dtype);
  return emit.result(emit.add(dtype == DType::Bool ? of_bools : of_bits, {a, b}));
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
  return emit.result(emit.select(condition, value("self"), value("other")));
}

// a - floor(a / b) * b
Check remainder(Emitter& emit, const OpCall& call) {
  const auto [a, b] = operands(emit, call);
  if (!is_float(a.dtype)) return Refusal{"dtype", std::string(name(a.dtype)), "floats"};
  return emit.result(emit.add(Op::Sub, {a, emit.mul(floor_of_quotient(emit, a, b), b)}));
}

Check power(Emitter& emit, const OpCall& call) {
  return emit.result(emit.add(Op::Pow, {emit.input(call, "self"), emit.input(call, "exponent")}));
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

constexpr std::string_view no_integers = "an operand that has no integers and is no constant";
constexpr std::string_view no_scale = "a result that is not only quantized, with one scale";

// Both operands in multiples of a scale that is finer than theirs by 19 bits, so that their sum fits into i32.
template <Op op>
Check sum_of_two(Emitter& emit, const OpCall& call) {
  if (!translate_by_table(emit, call)) return {};
  emit.forget_refusal();
  const auto result = emit.wanted(*call.node()->result());
  auto a = wide_operand(emit, call, "self");
  auto b = wide_operand(emit, call, "other");
  const double alpha = call.number("alpha");
  if (!result || !a || !b || alpha == 0) return refuse_integers(result ? no_integers : no_scale);
  b->scale *= std::abs(alpha);
  for (float& number : b->numbers) number *= static_cast<float>(std::abs(alpha));
  const double scale = std::max(std::ldexp(std::max(a->scale, b->scale), -19),
                                std::ldexp(std::max(largest(a->numbers), largest(b->numbers)), -28));
  constexpr Op other = op == Op::Add ? Op::Sub : Op::Add;
  const Tensor sum = emit.add(alpha > 0 ? op : other, {widened(emit, *a, scale), widened(emit, *b, scale)});
  return emit.integer_result(emit.rescale(sum, 0, DType::I8, result->zero_point, scale / result->scale),
                             *result);
}

// Numbers of a constant become integers of 16 bits.
Check product_of_two(Emitter& emit, const OpCall& call) {
  if (!translate_by_table(emit, call)) return {};
  emit.forget_refusal();
  const auto result = emit.wanted(*call.node()->result());
  auto a = wide_operand(emit, call, "self");
  auto b = wide_operand(emit, call, "other");
  if (!result || !a || !b) return refuse_integers(result ? no_integers : no_scale);
  for (WideOperand* operand : {&*a, &*b}) {
    if (!operand->integers) operand->scale = std::max(largest(operand->numbers), 1e-30) / 32767;
  }
  const Tensor product = emit.mul(widened(emit, *a, a->scale), widened(emit, *b, b->scale));
  return emit.integer_result(
      emit.rescale(product, 0, DType::I8, result->zero_point, a->scale * b->scale / result->scale), *result);
}

// In the result's scale, since the order of numbers stays when they are quantized.
template <Op op>
Check extreme_of_two(Emitter& emit, const OpCall& call) {
  const auto result = emit.wanted(*call.node()->result());
  if (!result) return refuse_integers(no_scale);
  emit.compute_in(*result);
  const auto wide = [&](std::string_view name) {
    return emit.rescale(emit.input(call, name), 0, DType::I32, 0, 1);
  };
  const Tensor made = emit.add(op, {wide("self"), wide("other")});
  return emit.integer_result(emit.rescale(made, 0, DType::I8, 0, 1), *result);
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
      {.op = "aten.div.Scalar", .conditions = "floats", .translate = div, .integers = IntegerForm::Table},
      {.op = "aten.div.Tensor", .conditions = "floats", .translate = div, .integers = IntegerForm::Table},
      {.op = "aten.eq.Scalar", .translate = compare<Equal>},
      {.op = "aten.eq.Tensor", .translate = compare<Equal>},
      {.op = "aten.ge.Scalar", .translate = compare<GreaterEqual>},
      {.op = "aten.ge.Tensor", .translate = compare<GreaterEqual>},
      {.op = "aten.gt.Scalar", .translate = compare<Greater>},
      {.op = "aten.gt.Tensor", .translate = compare<Greater>},
      {.op = "aten.le.Scalar", .translate = compare<GreaterEqual, swapped>},
      {.op = "aten.le.Tensor", .translate = compare<GreaterEqual, swapped>},
      {.op = "aten.logical_and.default", .translate = logical<LogicalAnd>},
      {.op = "aten.logical_or.default", .translate = logical<LogicalOr>},
      {.op = "aten.logical_xor.default", .translate = logical<LogicalXor>},
      {.op = "aten.lt.Scalar", .translate = compare<Greater, swapped>},
      {.op = "aten.lt.Tensor", .translate = compare<Greater, swapped>},
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
      {.op = "aten.ne.Scalar", .translate = compare<Equal, Side::AsGiven, true>},
      {.op = "aten.ne.Tensor", .translate = compare<Equal, Side::AsGiven, true>},
      {.op = "aten.pow.Tensor_Tensor", .translate = power, .integers = IntegerForm::Table},
      {.op = "aten.remainder.Scalar",
       .conditions = "floats",
       .translate = remainder,
       .integers = IntegerForm::Table},
      {.op = "aten.remainder.Tensor",
       .conditions = "floats",
       .translate = remainder,
       .integers = IntegerForm::Table},
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
