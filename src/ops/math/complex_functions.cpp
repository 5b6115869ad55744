// Standard formulas of the elementary functions, in forms that lose no digits for large or small numbers and
// respect branch cuts, where -0 and 0 differ.
#include "ops/math/complex_functions.h"

#include <numbers>

#include "depute/program/infer.h"
#include "ops/idioms.h"

namespace depute::internal {
namespace {

ComplexTerm operator+(const ComplexTerm& x, const ComplexTerm& y) {
  return {x.real + y.real, x.imaginary + y.imaginary};
}
// Multiplies instead of using neg, whose -0 backends may turn into 0: branch cuts depend on the sign.
Term minus(const Term& x) {
  return x * -1.0;
}
ComplexTerm operator-(const ComplexTerm& x) {
  return {minus(x.real), minus(x.imaginary)};
}
ComplexTerm operator+(const ComplexTerm& x, double number) {
  return {x.real + number, x.imaginary};
}
ComplexTerm operator*(const ComplexTerm& x, double number) {
  return {x.real * number, x.imaginary * number};
}
ComplexTerm operator*(const ComplexTerm& x, const ComplexTerm& y) {
  return {x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real};
}
ComplexTerm where(const Term& condition, const ComplexTerm& x, const ComplexTerm& y) {
  return {where(condition, x.real, y.real), where(condition, x.imaginary, y.imaginary)};
}

ComplexTerm times_i(const ComplexTerm& z) {
  return {minus(z.imaginary), z.real};
}
ComplexTerm by_i(const ComplexTerm& z) {
  return {z.imaginary, minus(z.real)};
}

Formula length_of(const ComplexTerm& z) {
  return z.real.call("aten.hypot.default", {z.imaginary.value()});
}
Formula angle_of(const ComplexTerm& z) {
  return z.imaginary.call("aten.atan2.default", {z.real.value()});
}
Term with_sign_of(const Term& x, const Term& sign) {
  return x.call("aten.copysign.Tensor", {sign.value()});
}
Term is_zero(const ComplexTerm& z) {
  return (z.real == 0) & (z.imaginary == 0);
}

// Scales by the size of the divisor, whose square could overflow.
ComplexTerm quotient(const ComplexTerm& x, const ComplexTerm& y) {
  const Term scale = 1.0 / (abs(y.real) + abs(y.imaginary));
  const Term a = x.real * scale, c = y.real * scale, d = y.imaginary * scale;
  const Term e = x.imaginary * scale, size = c * c + d * d;
  return {(a * c + e * d) / size, (e * c - a * d) / size};
}

ComplexTerm square(const ComplexTerm& z) {
  return {(z.real - z.imaginary) * (z.real + z.imaginary), z.real * z.imaginary * 2.0};
}

// z * z * ... for small integers, which PyTorch also computes more precisely than other powers.
ComplexTerm whole_power(const ComplexTerm& z, int exponent) {
  ComplexTerm result = z;
  for (int i = 1; i < exponent; ++i) result = result * z;
  return result;
}
constexpr int largest_whole_power = 4;

// Computes exp(w log(z)). The angles of a large exponent are beyond what sines of f32 reduce in every backend.
ComplexTerm power_of(const ComplexTerm& z, const ComplexTerm& w, bool is_large) {
  const ComplexTerm exponent = w * log(z);
  if (!is_large) return exp(exponent);
  const ScalarType type = exponent.real.dtype();
  const ComplexTerm wide = exp({exponent.real.to(ScalarType::F64), exponent.imaginary.to(ScalarType::F64)});
  return {wide.real.to(type), wide.imaginary.to(type)};
}

}  // namespace

ComplexTerm complex_operand(Builder& b, const OpCall& call, std::string_view name) {
  const ScalarType type = call.def().promotes() ? promoted_type(call) : call.tensor(name).dtype;
  const auto as_term = [&](const BuilderArgument& x) {
    const bool is_tensor = x.kind == BuilderArgument::Kind::Value && x.single->type().is_tensor();
    if (is_tensor) return Term(b, to_dtype(b, b.own(x.single), part_of(type)));
    return Term(b, b.call("aten.scalar_tensor.default", {x, part_of(type)}));
  };
  const ComplexParts parts = parts_of(b, call[name]);
  const Term real = as_term(parts.real);
  return {real, parts.imaginary ? as_term(*parts.imaginary) : real.call("aten.zeros_like.default")};
}

Replacement result(const ComplexTerm& z) {
  return one(complex_value_of(z.real.builder(), z.real.value(), z.imaginary.value()));
}

ComplexTerm exp(const ComplexTerm& z) {
  const Term size = exp(z.real);
  const Term height = size * sin(z.imaginary);
  return {size * cos(z.imaginary), where(z.imaginary == 0, z.imaginary, height)};
}
// exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2
ComplexTerm expm1(const ComplexTerm& z) {
  const Term half = sin(z.imaginary * 0.5);
  const Term real = expm1(z.real) * cos(z.imaginary);
  return {real - half * half * 2.0, exp(z).imaginary};
}

ComplexTerm log(const ComplexTerm& z) {
  return {log(length_of(z)), angle_of(z)};
}
ComplexTerm log2(const ComplexTerm& z) {
  return log(z) * (1 / std::numbers::ln2);
}
ComplexTerm log10(const ComplexTerm& z) {
  return log(z) * (1 / std::numbers::ln10);
}
// |1 + z|^2 = 1 + a (a + 2) + b^2
ComplexTerm log1p(const ComplexTerm& z) {
  const Term above_one = z.real * (z.real + 2.0) + z.imaginary * z.imaginary;
  return {log1p(above_one) * 0.5, angle_of(z + 1.0)};
}

// With t = sqrt((|z| + |a|) / 2) the parts are t and |b| / 2t. The larger one is the real part for a >= 0.
ComplexTerm sqrt(const ComplexTerm& z) {
  const Term height = abs(z.imaginary);
  const Term larger = sqrt(length_of(z) * 0.5 + abs(z.real) * 0.5);
  const Term smaller = where((larger == 0) | (height == infinity), height, height / larger * 0.5);
  const Term is_right = z.real >= 0;
  return {where(is_right, larger, smaller), with_sign_of(where(is_right, smaller, larger), z.imaginary)};
}
ComplexTerm rsqrt(const ComplexTerm& z) {
  return reciprocal(sqrt(z));
}
ComplexTerm reciprocal(const ComplexTerm& z) {
  const Term scale = 1.0 / (abs(z.real) + abs(z.imaginary));
  const Term c = z.real * scale, d = z.imaginary * scale;
  const Term size = c * c + d * d;
  return {c * scale / size, -(d * scale) / size};
}

ComplexTerm sigmoid(const ComplexTerm& z) {
  return tanh(z * 0.5) * 0.5 + 0.5;
}
ComplexTerm sgn(const ComplexTerm& z) {
  const Term length = length_of(z), divisor = where(length == 0, 1.0, length);
  return {z.real / divisor, z.imaginary / divisor};
}

ComplexTerm sinh(const ComplexTerm& z) {
  return {sinh(z.real) * cos(z.imaginary), cosh(z.real) * sin(z.imaginary)};
}
ComplexTerm cosh(const ComplexTerm& z) {
  return {cosh(z.real) * cos(z.imaginary), sinh(z.real) * sin(z.imaginary)};
}
// (sinh 2a + i sin 2b) / (cosh 2a + cos 2b), clamped where cosh would overflow and tanh is constant.
ComplexTerm tanh(const ComplexTerm& z) {
  const Term a = z.real.call("aten.clamp.default", {-40, 40}) * 2.0, b = z.imaginary * 2.0;
  const Term divisor = cosh(a) + cos(b);
  return {sinh(a) / divisor, sin(b) / divisor};
}
ComplexTerm sin(const ComplexTerm& z) {
  return by_i(sinh(times_i(z)));
}
ComplexTerm cos(const ComplexTerm& z) {
  return cosh(times_i(z));
}
ComplexTerm tan(const ComplexTerm& z) {
  return by_i(tanh(times_i(z)));
}

// log(z + sqrt(z^2 + 1)) in the half-plane without cancellation: asinh(-z) = -asinh(z).
ComplexTerm asinh(const ComplexTerm& z) {
  const Term is_left = z.real < 0;
  const ComplexTerm right = where(is_left, -z, z);
  const ComplexTerm result = log(right + sqrt(square(right) + 1.0));
  return where(is_left, -result, result);
}
ComplexTerm acosh(const ComplexTerm& z) {
  const ComplexTerm below = sqrt(z + -1.0), above = sqrt(z + 1.0);
  return log(z + above * below);
}
// (log((1 + z) / (1 - z))) / 2
ComplexTerm atanh(const ComplexTerm& z) {
  const Term rest = 1.0 - z.real, height = z.imaginary * z.imaginary;
  const Term real = log1p(z.real * 4.0 / (rest * rest + height)) * 0.25;
  const Term across = rest * (z.real + 1.0) - height;
  return {real, (z.imaginary * 2.0).call("aten.atan2.default", {across.value()}) * 0.5};
}
ComplexTerm asin(const ComplexTerm& z) {
  return by_i(asinh(times_i(z)));
}
ComplexTerm acos(const ComplexTerm& z) {
  return -asin(z) + std::numbers::pi / 2;
}
ComplexTerm atan(const ComplexTerm& z) {
  return by_i(atanh(times_i(z)));
}

Replacement complex_quotient(Builder& b, const OpCall& call) {
  const ComplexTerm x = complex_operand(b, call, "self"), y = complex_operand(b, call, "other");
  if (parts_of(b, call["other"]).imaginary) return result(quotient(x, y));
  return result({x.real / y.real, x.imaginary / y.real});
}

// exp(w log(z)); of zero, whose logarithm is -inf, it is 0, infinite or NaN by the sign of w's real part.
Replacement complex_power(Builder& b, const OpCall& call) {
  const ComplexTerm z = complex_operand(b, call, "self");
  bool is_large = false;
  if (const Argument& exponent = call["exponent"]; exponent.is_number()) {
    const double power = exponent.as_double();
    is_large = std::abs(power) > 1e5;
    if (power == 0) return result({z.real.call("aten.full_like.default", {1}), z.imaginary * 0.0});
    for (int whole = 1; whole <= largest_whole_power; ++whole) {
      if (power == whole) return result(whole_power(z, whole));
      if (power == -whole) return result(reciprocal(whole_power(z, whole)));
    }
    if (power == 0.5) return result(sqrt(z));
    if (power == -0.5) return result(rsqrt(z));
  }
  const ComplexTerm w = complex_operand(b, call, "exponent");
  const ComplexTerm power = power_of(z, w, is_large);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Term is_small = w.real > 0;
  const Term real = where(is_small, 0.0, where(w.real < 0, infinity, z.real * nan));
  const Term imaginary = where(is_small, 0.0, z.imaginary * nan);
  return result(where(is_zero(z), {real, imaginary}, power));
}

Replacement complex_abs(Builder& b, const OpCall& call) {
  return one(length_of(complex_operand(b, call, "self")).value());
}
Replacement complex_angle(Builder& b, const OpCall& call) {
  return one(angle_of(complex_operand(b, call, "self")).value());
}

Replacement complex_is_nan(Builder& b, const OpCall& call) {
  const ComplexTerm z = complex_operand(b, call, "self");
  return one((is_nan(z.real) | is_nan(z.imaginary)).value());
}
Replacement complex_is_inf(Builder& b, const OpCall& call) {
  const ComplexTerm z = complex_operand(b, call, "self");
  return one((z.real.call("aten.isinf.default") | z.imaginary.call("aten.isinf.default")).value());
}

}  // namespace depute::internal
