// Elementwise functions of two tensors, comparisons, and choices between tensors.
#include <algorithm>
#include <cmath>

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

}  // namespace

std::span<const OpRule> binary() {
  using enum Op;
  constexpr Side swapped = Side::Swapped;
  static constexpr OpRule rules[] = {
      {.op = "aten.add.Scalar", .translate = sum<Add>},
      {.op = "aten.add.Tensor", .translate = sum<Add>},
      {.op = "aten.bitwise_and.Scalar", .translate = bitwise<LogicalAnd, BitwiseAnd>},
      {.op = "aten.bitwise_and.Tensor", .translate = bitwise<LogicalAnd, BitwiseAnd>},
      {.op = "aten.bitwise_or.Scalar", .translate = bitwise<LogicalOr, BitwiseOr>},
      {.op = "aten.bitwise_or.Tensor", .translate = bitwise<LogicalOr, BitwiseOr>},
      {.op = "aten.bitwise_xor.Scalar", .translate = bitwise<LogicalXor, BitwiseXor>},
      {.op = "aten.bitwise_xor.Tensor", .translate = bitwise<LogicalXor, BitwiseXor>},
      {.op = "aten.div.Scalar", .conditions = "floats", .translate = div},
      {.op = "aten.div.Tensor", .conditions = "floats", .translate = div},
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
      {.op = "aten.maximum.default", .translate = binary<Maximum>},
      {.op = "aten.minimum.default", .translate = binary<Minimum>},
      {.op = "aten.mul.Scalar", .translate = mul},
      {.op = "aten.mul.Tensor", .translate = mul},
      {.op = "aten.ne.Scalar", .translate = compare<Equal, Side::AsGiven, true>},
      {.op = "aten.ne.Tensor", .translate = compare<Equal, Side::AsGiven, true>},
      {.op = "aten.pow.Tensor_Tensor", .translate = power},
      {.op = "aten.remainder.Scalar", .conditions = "floats", .translate = remainder},
      {.op = "aten.remainder.Tensor", .conditions = "floats", .translate = remainder},
      {.op = "aten.rsub.Scalar", .translate = rsub},
      {.op = "aten.sub.Scalar", .translate = sum<Sub>},
      {.op = "aten.sub.Tensor", .translate = sum<Sub>},
      {.op = "aten.where.self", .translate = where},
  };
  return rules;
}

}  // namespace depute::tosa::ops
