// Elementwise functions without a kernel in the runtime: tests, signs, rounding, means of two numbers,
// divisors.
//
//   %y = aten.frac.default(%x)       ->       %t = aten.trunc.default(%x)
//                                             %y = aten.sub.Tensor(%x, %t)
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/math/complex_functions.h"
#include "ops/math/formula.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- tests

// |a - b| <= atol + |rtol * b|. Infinities are close only to themselves, hence the extra `a == b`.
Replacement isclose(Builder& b, const OpCall& call) {
  Term self = operand(b, call, "self"), other = operand(b, call, "other");
  double rtol = call.number("rtol"), atol = call.number("atol");
  Term is_close = self == other;
  bool is_number = is_floating(self.dtype());
  if (is_number && call.boolean("equal_nan")) is_close = is_close | (is_nan(self) & is_nan(other));
  if (rtol == 0 && atol == 0) return result(call, is_close);
  Term target = other.to(computing_type(other.dtype()));
  Term distance = abs(self.to(target.dtype()) - target);
  Term is_near = distance <= abs(target * rtol) + atol;
  return result(call, is_close | (is_near & (distance < infinity)));
}

// Compares each element with all others: a column with a row.
Replacement isin(const OpCall& call, const Term& elements, const Term& tests) {
  Term row =
      tests.rank() == 1 ? Formula(tests) : tests.call("aten.view.default", {std::vector<std::int64_t>{-1}});
  Term is_equal = elements.call("aten.unsqueeze.default", {-1}) == row;
  Term found = is_equal.call("aten.any.dim", {-1});
  return one((call.boolean("invert") ? !found : found).value());
}
Replacement isin_tensors(Builder& b, const OpCall& call) {
  const Term tests = operand(b, call, "test_elements"), elements = operand(b, call, "elements");
  return isin(call, elements, tests);
}
Replacement isin_number(Builder& b, const OpCall& call) {
  Term elements = operand(b, call, "elements");
  Formula number = call["test_element"];
  return one((call.boolean("invert") ? elements != number : elements == number).value());
}
Replacement number_isin(Builder& b, const OpCall& call) {
  const Term tests = operand(b, call, "test_elements"), elements = operand(b, call, "element");
  return isin(call, elements, tests);
}

// --- signs

// The angle of (-1, x) distinguishes -0 from 0.
Term is_negative(const Term& x) {
  if (!is_floating(x.dtype())) return x < 0;
  Term minus_one(x.builder(), x.builder().call("aten.scalar_tensor.default", {-1, x.dtype()}));
  return x.call("aten.atan2.default", {minus_one.value()}) < 0;
}
Replacement copysign(Builder& b, const OpCall& call) {
  Term size = abs(operand(b, call, "self"));
  const Argument& sign = call["other"];
  if (sign.is_number()) return result(call, std::signbit(sign.as_double()) ? -size : size);
  const Term negated = -size;
  return result(call, where(is_negative(operand(b, call, "other")), negated, size));
}
Types infer_angle(const OpCall& call) {
  TRY(const std::vector<Type> types, infer_promoted(call));
  return tensor_result(part_of(types[0].tensor.dtype), types[0].tensor.sizes);
}
// --- parts of numbers

double largest_of(ScalarType type) {
  if (type == ScalarType::F16) return 65504;
  if (type == ScalarType::BF16) return 0x1.fep127;
  return type == ScalarType::F32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}
Replacement nan_to_num(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  if (is_complex(x.dtype())) return each_part(b, call);
  if (!is_floating(x.dtype())) return one(b.call("aten.alias.default", {call["self"]}));
  const double largest = largest_of(x.dtype());
  auto number = [&](std::string_view name, double otherwise) {
    return call[name].is_none() ? otherwise : call.number(name);
  };
  Term y = where(is_nan(x), number("nan", 0), x);
  y = where(x == infinity, number("posinf", largest), y);
  return result(call, where(x == -infinity, number("neginf", -largest), y));
}
// Like torch: the power of ten has the type of the computation.
Replacement round_decimals(Builder& b, const OpCall& call) {
  std::int64_t decimals = call.integer("decimals");
  if (decimals == 0) return one(b.call("aten.round.default", {call["self"]}));
  Term x = tensor_operand(b, call, "self");
  double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  Term wide = x.to(computing_type(x.dtype()));
  Term scaled = decimals > 0 ? wide * power : wide / power;
  Term rounded = scaled.call("aten.round.default");
  return result(call, decimals > 0 ? rounded / power : rounded * power);
}

// self * 2^other; the power of an integer is f32
ScalarType ldexp_type(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  const TensorType& other = call.tensor("other");
  const bool is_whole = !is_floating(other.dtype) && !is_complex(other.dtype);
  ScalarType power = is_whole ? ScalarType::F32 : other.dtype;
  bool keeps = is_floating(self.dtype) && (self.rank() > 0) != (other.rank() > 0);
  if (keeps) return self.rank() > 0 ? self.dtype : power;
  return promote(self.dtype, power);
}
Types infer_ldexp(const OpCall& call) {
  TRY(Dims sizes, broadcast(call.tensor("self").sizes, call.tensor("other").sizes));
  return tensor_result(ldexp_type(call), std::move(sizes));
}

// --- two numbers

// The larger one times sqrt(1 + ratio^2): squares of large numbers would be infinite. Divided is by a number
// that is neither zero nor infinite. Beside an infinity NaN does not count.
Replacement hypot(Builder& b, const OpCall& call) {
  Term self = abs(float_operand(b, call, "self")), other = abs(float_operand(b, call, "other"));
  const Term larger = max(self, other);
  const double least = std::numeric_limits<float>::min();
  const Term ratio =
      min(self, other) / larger.call("aten.clamp.default", {least, largest_of(larger.dtype())});
  const Term length = larger * sqrt(ratio * ratio + 1);
  return result(call, where((self == infinity) | (other == infinity), infinity, length));
}

// Starts from the nearer end, so that a weight of 1 returns the end exactly.
Replacement lerp(Builder& b, const OpCall& call) {
  Term self = float_operand(b, call, "self"), end = float_operand(b, call, "end");
  Term distance = end - self;
  const Argument& weight = call["weight"];
  if (weight.is_number()) {
    double w = weight.as_double();
    return result(call, std::fabs(w) < 0.5 ? self + distance * w : end - distance * (1 - w));
  }
  Term w = float_operand(b, call, "weight");
  return result(call, where(abs(w) < 0.5, self + distance * w, end - distance * (1.0 - w)));
}

Replacement logaddexp(Builder& b, const OpCall& call) {
  const Term other = float_operand(b, call, "other"), self = float_operand(b, call, "self");
  return result(call, log_add(self, other));
}
Replacement logaddexp2(Builder& b, const OpCall& call) {
  Term self = float_operand(b, call, "self"), other = float_operand(b, call, "other");
  return result(call, log_add(self, other, std::numbers::ln2));
}

// Number of steps of Euclid's algorithm in the worst case (Fibonacci numbers). Finished elements stay
// unchanged: a divisor of 0 is replaced by 1, and its remainder is ignored.
int steps_of_euclid(ScalarType dtype) {
  return static_cast<int>(std::ceil(static_cast<double>(item_size(dtype)) * 8 / 0.694)) + 1;
}
Term greatest_divisor(Term a, Term b) {
  int steps = steps_of_euclid(a.dtype());
  a = abs(a);
  b = abs(b);
  for (int i = 0; i < steps; ++i) {
    Term is_done = b == 0;
    Term divisor = where(is_done, 1, b);
    Term quotient = a.call("aten.div.Tensor_mode", {divisor.value(), "trunc"});
    Term remainder = a - quotient * divisor;
    a = where(is_done, a, b);
    b = where(is_done, 0, remainder);
  }
  return a;
}
Replacement gcd(Builder& b, const OpCall& call) {
  const Term other = operand(b, call, "other"), self = operand(b, call, "self");
  return result(call, greatest_divisor(self, other));
}
Replacement lcm(Builder& b, const OpCall& call) {
  Term self = operand(b, call, "self"), other = operand(b, call, "other");
  Term divisor = greatest_divisor(self, other);
  Term shared = where(divisor == 0, 1, divisor);
  Term quotient = self.call("aten.div.Tensor_mode", {shared.value(), "trunc"});
  return result(call, abs(quotient * other));
}

constexpr OpRules test(DecomposeFunction decompose) {
  return composite(infer_bool, decompose, Pointwise);
}
constexpr OpRules isin_rules(DecomposeFunction decompose, const char* promotes) {
  return {.promotes = promotes, .decompose = decompose};
}
constexpr OpRules float_power(DecomposeFunction decompose) {
  return derived(decompose, Pointwise);
}

constexpr OpRules angle_rules() {
  OpRules rules = on_complex(complex_angle,
                             float_formula(wide_text<"where(self < 0, pi, where(isnan(self), self, 0.0))">));
  rules.infer = infer_angle;
  return rules;
}

}  // namespace

std::span<const OpLine> numeric_ops() {
  static constexpr OpLine lines[] = {
      {"aten.isfinite(Tensor self)",
       test(text<"is_float(self) | is_complex(self) ? abs(self) < inf : full_like(self, true, bool)">)},
      {"aten.isposinf(Tensor self)",
       test(text<"is_float(self) ? self == inf : full_like(self, false, bool)">)},
      {"aten.isneginf(Tensor self)",
       test(text<"is_float(self) ? self == -inf : full_like(self, false, bool)">)},
      {"aten.isreal(Tensor self)",
       test(text<"is_complex(self) ? imag(self) == 0 : full_like(self, true, bool)">)},
      {"aten.isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool "
       "equal_nan=False)",
       {.flags = Pointwise, .promotes = "self other", .infer = infer_bool, .decompose = isclose}},
      {"aten.isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool "
       "invert=False)",
       isin_rules(isin_tensors, "elements test_elements")},
      {"aten.isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool "
       "invert=False)",
       isin_rules(isin_number, "elements test_element")},
      {"aten.isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool "
       "invert=False)",
       isin_rules(number_isin, "element test_elements")},
      {"aten.sgn(Tensor self)",
       on_complex(complex_function<sgn>, composite_pointwise(text<"sign(self)">, InPlaceVariant))},
      {"aten.signbit(Tensor self)",
       test(text<"dtype(self) == bool ? full_like(self, false, bool) : is_negative(self)">)},
      {"aten.copysign.Tensor(Tensor self, Tensor other)",
       with_scalar(written_by("copysign.out", formula(copysign, InPlaceVariant | PromotesToFloat)))},
      {"aten.angle(Tensor self)", angle_rules()},
      {"aten.heaviside(Tensor self, Tensor values)",
       formula(text<"x = promoted(self); where(x == 0, promoted(values), to(x > 0, dtype(x)))">,
               InPlaceVariant, "self values")},
      {"aten.nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
       composite_pointwise(nan_to_num, InPlaceVariant)},
      {"aten.frac(Tensor self)", composite_pointwise(text<"self - trunc(self)">, InPlaceVariant)},
      {"aten.round.decimals(Tensor self, *, int decimals)",
       composite_pointwise(round_decimals, InPlaceVariant)},
      {"aten.special_round(Tensor self, *, int decimals=0)", composite_pointwise(round_decimals)},
      // The logarithm gives the exponent except for its last bit, which the mantissa corrects. Computed in f64
      // and in two steps, so that no power of two overflows.
      {"aten.frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
       derived(text<"wide = to(self, f64); is_number = (abs(wide) < inf) & (wide != 0); exponent = "
                    "floor(log2(abs(where(is_number, wide, 1.0)))) + 1; half = floor(exponent * 0.5); "
                    "mantissa = wide / power_of_two(half) / power_of_two(exponent - half); is_high = "
                    "abs(mantissa) >= 1; is_low = abs(mantissa) < 0.5; mantissa = where(is_high, mantissa * "
                    "0.5, where(is_low, mantissa * 2, mantissa)); exponent = where(is_high, exponent + 1, "
                    "where(is_low, exponent - 1, exponent)); to(where(is_number, mantissa, wide), "
                    "dtype(self)), to(where(is_number, exponent, 0.0), i32)">)},
      {"aten.ldexp.Tensor(Tensor self, Tensor other)",
       written_by("ldexp.out", composite(infer_ldexp,
                                         text<"power = is_float(other) | is_complex(other) ? other : "
                                              "to(other, f32); as_result(self * power_of_two(power))">,
                                         Pointwise))},
      {"aten.ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.ldexp.Tensor"}},
      {"aten.float_power.Tensor_Tensor(Tensor self, Tensor exponent)",
       float_power(text<"x = to(self, f64); pow.Tensor_Tensor(x, to(exponent, f64))">)},
      {"aten.float_power.Tensor_Scalar(Tensor self, Scalar exponent)",
       float_power(text<"pow.Tensor_Scalar(to(self, f64), exponent)">)},
      {"aten.float_power.Scalar(Scalar self, Tensor exponent)",
       float_power(text<"pow.Scalar(self, to(exponent, f64))">)},
      {"aten.float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.float_power.Tensor_Tensor"}},
      {"aten.float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.float_power.Tensor_Scalar"}},
      {"aten.fmax(Tensor self, Tensor other)",
       formula(promoted_text<"is_float(self) ? where((self >= other) | isnan(other), self, other) : "
                             "maximum(self, other)">)},
      {"aten.fmin(Tensor self, Tensor other)",
       formula(promoted_text<"is_float(self) ? where((self <= other) | isnan(other), self, other) : "
                             "minimum(self, other)">)},
      {"aten.hypot(Tensor self, Tensor other)", formula(hypot, InPlaceVariant)},
      {"aten.deg2rad(Tensor self)", float_formula(wide_text<"self * (pi / 180)">, InPlaceVariant)},
      {"aten.rad2deg(Tensor self)", float_formula(wide_text<"self * (180 / pi)">, InPlaceVariant)},
      {"aten.lerp.Scalar(Tensor self, Tensor end, Scalar weight)", formula(lerp, InPlaceVariant, "self end")},
      {"aten.lerp.Tensor(Tensor self, Tensor end, Tensor weight)",
       formula(lerp, InPlaceVariant, "self end weight")},
      {"aten.logaddexp(Tensor self, Tensor other)", formula(logaddexp)},
      {"aten.logaddexp2(Tensor self, Tensor other)", formula(logaddexp2)},
      {"aten.gcd(Tensor self, Tensor other)", formula(gcd, InPlaceVariant)},
      {"aten.lcm(Tensor self, Tensor other)", formula(lcm, InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
