// Elementwise arithmetic, comparisons and logic: operands are broadcast and promoted to one type.
//
//   aten.add.Tensor(f32[2, 3], i64[3])  ->  f32[2, 3]
#include <cmath>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/math/complex_functions.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "ops/rename.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Whether integers are divided by -1: processors end a program that divides the least of them.
bool is_negation(const OpCall& call) {
  if (!call["other"].is_number() || call["other"].as_double() != -1) return false;
  const ScalarType dtype = promoted_type(call);
  return is_integral(dtype) && dtype != ScalarType::U8 && dtype != ScalarType::Bool;
}
Replacement div_scalar_mode(Builder& b, const OpCall& call) {
  if (is_negation(call) && !call["rounding_mode"].is_none())
    return one(b.call("aten.neg.default", {call["self"]}));
  return one(b.call("aten.div.Tensor_mode", call.args()));
}

Replacement floor_divide(Builder& b, const OpCall& call) {
  if (is_negation(call)) return one(b.call("aten.neg.default", {call["self"]}));
  return one(b.call("aten.div.Tensor_mode", {call["self"], call["other"], "floor"}));
}

// The fill is converted to the tensor's type.
Replacement masked_fill(Builder& b, const OpCall& call) {
  ScalarType dtype = call.tensor("self").dtype;
  Argument value = call["value"];
  bool is_tensor = value.is_value() && value.as_value()->type().is_tensor();
  if (is_tensor && value.as_value()->tensor().dtype != dtype) {
    value = Argument::of(b.call("aten._to_copy.default", {value, dtype}));
  } else if (value.is_number() && promote(scalar_type_of(value), dtype) != dtype) {
    value = Argument::of(b.call("aten.scalar_tensor.default", {value, dtype}));
  }
  return one(b.call("aten.where.self", {call["mask"], value, call["self"]}));
}

Types infer_masked_fill(const OpCall& call) {
  TRY(Dims sizes, broadcast(call.tensor("self").sizes, call.tensor("mask").sizes));
  return tensor_result(call.tensor("self").dtype, std::move(sizes));
}

// Division with rounding keeps integers; plain division returns floats.
Types infer_div_mode(const OpCall& call) {
  TRY(std::vector<Type> types, infer_promoted(call));
  ScalarType& dtype = types[0].tensor.dtype;
  bool keeps = !call["rounding_mode"].is_none() || is_floating(dtype) || is_complex(dtype);
  if (!keeps) dtype = ScalarType::F32;
  return types;
}

constexpr OpRules div_mode(const char* out) {
  return {.flags = Core | Pointwise | InPlaceVariant,
          .out = out,
          .promotes = "self other",
          .infer = infer_div_mode,
          .decompose = text<"rounding_mode == none ? div.Tensor(self, other) : keep()">};
}

// An in-place op whose name differs from its functional op's.
constexpr OpRules writing(const char* functional, const char* promotes) {
  return {.promotes = promotes, .infer = infer_same_type, .functional = functional};
}

// Two operands of any type, converted to bool.
constexpr OpRules logical(const char* out) {
  return {.flags = Core | Pointwise | InPlaceVariant, .out = out, .infer = infer_bool};
}

constexpr OpRules power(const char* out, const char* promotes, OpFlag flags = None) {
  return {.flags = Core | Pointwise | flags, .out = out, .promotes = promotes, .infer = infer_promoted};
}

// self + value * (tensor1 op tensor2), in the type that eager PyTorch computes in; among integers `value` is one.
template <Text op>
Replacement sum_with_scaled(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call), computed = compute_type(dtype);
  const Argument& value = call["value"];
  Term scaled =
      operand(computed, b, call, "tensor1").call(op, {operand(computed, b, call, "tensor2").value()});
  if (value.is_number() && is_integral(dtype)) {
    if (!value.is_int() && !(std::fabs(value.as_double()) < 0x1p63))
      return argument_error("'value' is beyond 64 bits");
    scaled = scaled * (value.is_int() ? value.as_int() : static_cast<std::int64_t>(value.as_double()));
  } else if (!value.is_number() || value.as_double() != 1) {
    scaled = scaled * value;
  }
  return one((operand(computed, b, call, "self") + scaled).to(dtype).value());
}

Types infer_clamp(const OpCall& call) {
  if (call["min"].is_none() && call["max"].is_none())
    return argument_error("clamp requires a lower or an upper bound");
  return infer_promoted(call);
}
constexpr OpRules clamping(const char* out, const char* promotes, OpFlag flags = None) {
  OpRules rules = power(out, promotes, flags);
  rules.infer = infer_clamp;
  return rules;
}

constexpr OpRules by_promotion(const char* promotes, DecomposeFunction decompose, OpFlag flags = None) {
  return {.flags = Pointwise | flags, .promotes = promotes, .infer = infer_promoted, .decompose = decompose};
}

// A product or quotient of f16 by a number beyond f16 is computed in f32, as in eager PyTorch: 0 * -1e9 is 0.
Replacement by_number_beyond_half(Builder& b, const OpCall& call) {
  const Argument& number = call["other"];
  if (!number.is_number() || promoted_type(call) != ScalarType::F16) return std::vector<Value*>{};
  const double size = std::fabs(number.as_double());
  if (size <= 65504 || !std::isfinite(size) || !call["self"].is_value()) return std::vector<Value*>{};
  Value* x = to_dtype(b, b.own(call["self"].as_value()), ScalarType::F32);
  return one(to_dtype(b, b.call(call.def().name.str(), {x, number}), ScalarType::F16));
}
constexpr OpRules scaling(OpRules rules) {
  rules.decompose = by_number_beyond_half;
  return rules;
}

// For complex tensors returns a real tensor.
constexpr OpRules absolute() {
  OpRules rules = unary("abs.out", InPlaceVariant);
  rules.infer = infer_part;
  return rules;
}

}  // namespace

std::span<const OpLine> pointwise_ops() {
  static constexpr OpLine lines[] = {
      // arithmetic
      {"aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)",
       with_scalar(on_complex(complex_sum, fitted(of_equal_ranks, binary("add.out", InPlaceVariant))))},
      {"aten.sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)",
       with_scalar(on_complex(complex_sum, fitted(of_equal_ranks, binary("sub.out", InPlaceVariant))))},
      {"aten.rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)",
       with_scalar(by_promotion("self other", text<"sub.Tensor(other, self, alpha)">))},
      {"aten.mul.Tensor(Tensor self, Tensor other)",
       with_scalar(
           on_complex(complex_product, fitted(of_equal_ranks, scaling(binary("mul.out", InPlaceVariant)))))},
      {"aten.div.Tensor(Tensor self, Tensor other)",
       with_scalar(
           on_complex(complex_quotient,
                      fitted(of_equal_ranks, scaling(binary("div.out", InPlaceVariant | PromotesToFloat)))))},
      {"aten.div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode)",
       fitted(floor_by_division_of_zero, div_mode("div.out_mode"))},
      {"aten.div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode)",
       {.flags = Pointwise | InPlaceVariant,
        .promotes = "self other",
        .infer = infer_div_mode,
        .decompose = div_scalar_mode}},
      {"aten.floor_divide(Tensor self, Tensor other)", by_promotion("self other", floor_divide)},
      {"aten.floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       writing("aten.floor_divide.default", "self other")},
      {"aten.floor_divide.Scalar(Tensor self, Scalar other)",
       by_promotion("self other", floor_divide, InPlaceVariant)},
      {"aten.fmod.Tensor(Tensor self, Tensor other)", with_scalar(binary("fmod.Tensor_out", InPlaceVariant))},
      {"aten.remainder.Tensor(Tensor self, Tensor other)",
       with_scalar(fitted(remainder_by_floor, binary("remainder.Tensor_out", InPlaceVariant)))},
      {"aten.minimum(Tensor self, Tensor other)", binary("minimum.out")},
      {"aten.maximum(Tensor self, Tensor other)", binary("maximum.out")},
      {"aten.min.other(Tensor self, Tensor other)",
       written_by("min.out", by_promotion("self other", text<"minimum(self, other)">))},
      {"aten.max.other(Tensor self, Tensor other)",
       written_by("max.out", by_promotion("self other", text<"maximum(self, other)">))},
      {"aten.pow.Tensor_Tensor(Tensor self, Tensor exponent)",
       on_complex(complex_power, fitted(power_by_squaring, power("pow.Tensor_Tensor_out", "self exponent")))},
      {"aten.pow.Tensor_Scalar(Tensor self, Scalar exponent)",
       on_complex(complex_power, fitted(power_by_squaring, power("pow.Tensor_Scalar_out", "self exponent")))},
      {"aten.pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
       writing("aten.pow.Tensor_Tensor", "self exponent")},
      {"aten.pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
       writing("aten.pow.Tensor_Scalar", "self exponent")},
      {"aten.pow.Scalar(Scalar self, Tensor exponent)",
       on_complex(complex_power, fitted(power_by_squaring, power("pow.Scalar_out", "self exponent")))},
      {"aten.atan2(Tensor self, Tensor other)", binary("atan2.out", InPlaceVariant | PromotesToFloat)},
      {"aten.addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
       formula(sum_with_scaled<"aten.mul.Tensor">, InPlaceVariant, "self tensor1 tensor2")},
      {"aten.addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
       formula(sum_with_scaled<"aten.div.Tensor">, InPlaceVariant | PromotesToFloat, "self tensor1 tensor2")},
      {"aten.square(Tensor self)", derived(text<"pow.Tensor_Scalar(self, 2)">, Pointwise | InPlaceVariant)},
      {"aten.clamp(Tensor self, Scalar? min=None, Scalar? max=None)",
       fitted(with_bounds_of_type, clamping("clamp.out", "self min max", InPlaceVariant))},
      {"aten.clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)",
       clamping("clamp.Tensor_out", "self min max", InPlaceVariant)},
      {"aten.clamp_min(Tensor self, Scalar min)",
       by_promotion("self min", text<"clamp(self, min)">, InPlaceVariant)},
      {"aten.clamp_max(Tensor self, Scalar max)",
       by_promotion("self max", text<"clamp(self, none, max)">, InPlaceVariant)},
      {"aten.clamp_min.Tensor(Tensor self, Tensor min)",
       by_promotion("self min", text<"maximum(self, min)">, InPlaceVariant)},
      {"aten.clamp_max.Tensor(Tensor self, Tensor max)",
       by_promotion("self max", text<"minimum(self, max)">, InPlaceVariant)},
      // one operand
      {"aten.abs(Tensor self)", on_complex(complex_abs, absolute())},
      {"aten.neg(Tensor self)", on_complex(each_part, unary("neg.out", InPlaceVariant))},
      {"aten.sign(Tensor self)", fitted(sign_without_nan, unary("sign.out", InPlaceVariant))},
      {"aten.ceil(Tensor self)", unary("ceil.out", InPlaceVariant)},
      {"aten.floor(Tensor self)", unary("floor.out", InPlaceVariant)},
      {"aten.round(Tensor self)", unary("round.out", InPlaceVariant)},
      {"aten.trunc(Tensor self)", unary("trunc.out", InPlaceVariant)},
      {"aten.bitwise_not(Tensor self)", unary("bitwise_not.out", InPlaceVariant)},
      {"aten.exp(Tensor self)", on_complex(complex_function<exp>, unary_float("exp.out", InPlaceVariant))},
      {"aten.expm1(Tensor self)",
       on_complex(complex_function<expm1>, unary_float("expm1.out", InPlaceVariant))},
      {"aten.log(Tensor self)", on_complex(complex_function<log>, unary_float("log.out", InPlaceVariant))},
      {"aten.log10(Tensor self)",
       on_complex(complex_function<log10>, unary_float("log10.out", InPlaceVariant))},
      {"aten.log1p(Tensor self)",
       on_complex(complex_function<log1p>, unary_float("log1p.out", InPlaceVariant))},
      {"aten.log2(Tensor self)", on_complex(complex_function<log2>, unary_float("log2.out", InPlaceVariant))},
      {"aten.sqrt(Tensor self)", on_complex(complex_function<sqrt>, unary_float("sqrt.out", InPlaceVariant))},
      {"aten.rsqrt(Tensor self)",
       on_complex(complex_function<rsqrt>, unary_float("rsqrt.out", InPlaceVariant))},
      {"aten.reciprocal(Tensor self)",
       on_complex(complex_function<reciprocal>, unary_float("reciprocal.out", InPlaceVariant))},
      {"aten.erf(Tensor self)", unary_float("erf.out", InPlaceVariant)},
      {"aten.sin(Tensor self)", on_complex(complex_function<sin>, unary_float("sin.out", InPlaceVariant))},
      {"aten.cos(Tensor self)", on_complex(complex_function<cos>, unary_float("cos.out", InPlaceVariant))},
      {"aten.tan(Tensor self)", on_complex(complex_function<tan>, unary_float("tan.out", InPlaceVariant))},
      {"aten.asin(Tensor self)", on_complex(complex_function<asin>, unary_float("asin.out", InPlaceVariant))},
      {"aten.acos(Tensor self)", on_complex(complex_function<acos>, unary_float("acos.out", InPlaceVariant))},
      {"aten.atan(Tensor self)", on_complex(complex_function<atan>, unary_float("atan.out", InPlaceVariant))},
      {"aten.sinh(Tensor self)", on_complex(complex_function<sinh>, unary_float("sinh.out", InPlaceVariant))},
      {"aten.cosh(Tensor self)", on_complex(complex_function<cosh>, unary_float("cosh.out", InPlaceVariant))},
      {"aten.asinh(Tensor self)",
       on_complex(complex_function<asinh>, unary_float("asinh.out", InPlaceVariant))},
      {"aten.acosh(Tensor self)",
       on_complex(complex_function<acosh>, unary_float("acosh.out", InPlaceVariant))},
      {"aten.atanh(Tensor self)",
       on_complex(complex_function<atanh>, unary_float("atanh.out", InPlaceVariant))},
      {"aten.isnan(Tensor self)", on_complex(complex_is_nan, unary_bool("isnan.out"))},
      {"aten.isinf(Tensor self)", on_complex(complex_is_inf, unary_bool("isinf.out"))},
      // comparisons
      {"aten.eq.Tensor(Tensor self, Tensor other)",
       with_scalar(on_complex(complex_equal, comparison("eq.Tensor_out")))},
      {"aten.ne.Tensor(Tensor self, Tensor other)",
       with_scalar(on_complex(complex_unequal, comparison("ne.Tensor_out")))},
      {"aten.lt.Tensor(Tensor self, Tensor other)", with_scalar(comparison("lt.Tensor_out"))},
      {"aten.le.Tensor(Tensor self, Tensor other)",
       with_scalar(fitted(le_by_ge, comparison("le.Tensor_out")))},
      {"aten.gt.Tensor(Tensor self, Tensor other)", with_scalar(comparison("gt.Tensor_out"))},
      {"aten.ge.Tensor(Tensor self, Tensor other)", with_scalar(comparison("ge.Tensor_out"))},
      // logic
      {"aten.logical_not(Tensor self)", on_complex(of_truth, unary_bool("logical_not.out", InPlaceVariant))},
      {"aten.logical_and(Tensor self, Tensor other)", on_complex(of_truth, logical("logical_and.out"))},
      {"aten.logical_or(Tensor self, Tensor other)", on_complex(of_truth, logical("logical_or.out"))},
      {"aten.logical_xor(Tensor self, Tensor other)", on_complex(of_truth, logical("logical_xor.out"))},
      {"aten.bitwise_and.Tensor(Tensor self, Tensor other)",
       with_scalar(binary("bitwise_and.Tensor_out", InPlaceVariant))},
      {"aten.bitwise_or.Tensor(Tensor self, Tensor other)",
       with_scalar(binary("bitwise_or.Tensor_out", InPlaceVariant))},
      {"aten.bitwise_xor.Tensor(Tensor self, Tensor other)",
       with_scalar(binary("bitwise_xor.Tensor_out", InPlaceVariant))},
      {"aten.__and__.Tensor(Tensor self, Tensor other)",
       with_scalar(by_promotion("self other", text<"bitwise_and.Tensor(self, other)">))},
      {"aten.__lshift__.Tensor(Tensor self, Tensor other)",
       with_scalar(by_promotion("self other", text<"bitwise_left_shift.Tensor(self, other)">))},
      {"aten.__rshift__.Tensor(Tensor self, Tensor other)",
       with_scalar(by_promotion("self other", text<"bitwise_right_shift.Tensor(self, other)">))},
      {"aten.__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       writing("aten.bitwise_left_shift.Tensor", "self other")},
      {"aten.__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       writing("aten.bitwise_left_shift.Tensor_Scalar", "self other")},
      {"aten.__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       writing("aten.bitwise_right_shift.Tensor", "self other")},
      {"aten.__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       writing("aten.bitwise_right_shift.Tensor_Scalar", "self other")},
      {"aten.__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       writing("aten.bitwise_and.Tensor", "self other")},
      {"aten.__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       writing("aten.bitwise_and.Scalar", "self other")},
      {"aten.__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       writing("aten.bitwise_or.Tensor", "self other")},
      {"aten.__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       writing("aten.bitwise_or.Scalar", "self other")},
      {"aten.__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       writing("aten.bitwise_xor.Tensor", "self other")},
      {"aten.__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       writing("aten.bitwise_xor.Scalar", "self other")},
      {"aten.__or__.Tensor(Tensor self, Tensor other)",
       with_scalar(by_promotion("self other", text<"bitwise_or.Tensor(self, other)">))},
      {"aten.__xor__.Tensor(Tensor self, Tensor other)",
       with_scalar(by_promotion("self other", text<"bitwise_xor.Tensor(self, other)">))},
      {"aten.bitwise_left_shift.Tensor(Tensor self, Tensor other)",
       fitted(left_shift_within_width, binary("bitwise_left_shift.Tensor_out", InPlaceVariant))},
      {"aten.bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other)",
       fitted(left_shift_within_width, binary("bitwise_left_shift.Tensor_Scalar_out", InPlaceVariant))},
      {"aten.bitwise_right_shift.Tensor(Tensor self, Tensor other)",
       fitted(right_shift_within_width, binary("bitwise_right_shift.Tensor_out", InPlaceVariant))},
      {"aten.bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other)",
       fitted(right_shift_within_width, binary("bitwise_right_shift.Tensor_Scalar_out", InPlaceVariant))},
      // choice
      {"aten.where.self(Tensor condition, Tensor self, Tensor other)",
       on_complex(each_part, power("where.self_out", "self other"))},
      {"aten.where.ScalarOther(Tensor condition, Tensor self, Scalar other)",
       by_promotion("self other", text<"where(condition, self, other)">)},
      {"aten.where.ScalarSelf(Tensor condition, Scalar self, Tensor other)",
       by_promotion("self other", text<"where(condition, self, other)">)},
      {"aten.where.Scalar(Tensor condition, Scalar self, Scalar other)",
       by_promotion("self other", text<"where(condition, self, other)">)},
      {"aten.masked_fill.Scalar(Tensor self, Tensor mask, Scalar value)",
       composite(infer_masked_fill, masked_fill, Pointwise | InPlaceVariant)},
      {"aten.masked_fill.Tensor(Tensor self, Tensor mask, Tensor value)",
       composite(infer_masked_fill, masked_fill, Pointwise | InPlaceVariant)},
      // other names
      {"aten.absolute", renamed<"aten.abs.default">(Pointwise | InPlaceVariant)},
      {"aten.negative", renamed<"aten.neg.default">(Pointwise | InPlaceVariant)},
      {"aten.fix", renamed<"aten.trunc.default">(Pointwise | InPlaceVariant)},
      {"aten.arccos", renamed<"aten.acos.default">(Pointwise | InPlaceVariant)},
      {"aten.arcsin", renamed<"aten.asin.default">(Pointwise | InPlaceVariant)},
      {"aten.arctan", renamed<"aten.atan.default">(Pointwise | InPlaceVariant)},
      {"aten.arccosh", renamed<"aten.acosh.default">(Pointwise | InPlaceVariant)},
      {"aten.arcsinh", renamed<"aten.asinh.default">(Pointwise | InPlaceVariant)},
      {"aten.arctanh", renamed<"aten.atanh.default">(Pointwise | InPlaceVariant)},
      {"aten.arctan2", renamed_binary<"aten.atan2.default">()},
      {"aten.multiply.Tensor", written_by("multiply.out", renamed_binary<"aten.mul.Tensor">())},
      {"aten.multiply.Scalar", renamed<"aten.mul.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.divide.Tensor", written_by("divide.out", renamed_binary<"aten.div.Tensor">())},
      {"aten.divide.Scalar", renamed<"aten.div.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.true_divide.Tensor", written_by("true_divide.out", renamed_binary<"aten.div.Tensor">())},
      {"aten.true_divide.Scalar", renamed<"aten.div.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.divide.Tensor_mode", written_by("divide.out_mode", renamed_binary<"aten.div.Tensor_mode">())},
      {"aten.divide.Scalar_mode", renamed<"aten.div.Scalar_mode">(Pointwise | InPlaceVariant)},
      {"aten.subtract.Tensor", written_by("subtract.out", renamed_binary<"aten.sub.Tensor">())},
      {"aten.subtract.Scalar", renamed<"aten.sub.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.clip", renamed<"aten.clamp.default">(Pointwise | InPlaceVariant)},
      {"aten.clip.Tensor", renamed<"aten.clamp.Tensor">(Pointwise | InPlaceVariant)},
      {"aten.greater.Tensor", renamed_binary<"aten.gt.Tensor">()},
      {"aten.greater.Scalar", renamed<"aten.gt.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.greater_equal.Tensor", renamed_binary<"aten.ge.Tensor">()},
      {"aten.greater_equal.Scalar", renamed<"aten.ge.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.less.Tensor", renamed_binary<"aten.lt.Tensor">()},
      {"aten.less.Scalar", renamed<"aten.lt.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.less_equal.Tensor", renamed_binary<"aten.le.Tensor">()},
      {"aten.less_equal.Scalar", renamed<"aten.le.Scalar">(Pointwise | InPlaceVariant)},
      {"aten.not_equal.Tensor", renamed_binary<"aten.ne.Tensor">()},
      {"aten.not_equal.Scalar", renamed<"aten.ne.Scalar">(Pointwise | InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
