// Hurwitz's zeta function 1 / q^s + 1 / (q + 1)^s + ... in f64, and the derivatives of digamma, which are
// multiples of it. Ten terms are summed; the Euler-Maclaurin formula gives the rest.
//
// For an integer s the sum also exists for negative q. Up to the fractional part f of q, its terms are those
// of positive arguments, in another order.
//
//   zeta(s, q) = zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - q))         f = q - floor(q)
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/math/formula.h"
#include "ops/rename.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// B(2j) / (2j)!, with Bernoulli's numbers B
constexpr double bernoulli[] = {1.0 / 12,
                                -1.0 / 720,
                                1.0 / 30240,
                                -1.0 / 1209600,
                                1.0 / 47900160,
                                -691.0 / 1307674368000,
                                1.0 / 74724249600,
                                -3617.0 / 10670622842880000,
                                43867.0 / 5109094217170944000,
                                -174611.0 / 802857662698291200000.0,
                                77683.0 / 14101100039391805440000.0,
                                -236364091.0 / 1693824136731743669452800000.0};

// q > 0
Term hurwitz(const Term& s, const Term& q) {
  constexpr int count = 9;
  const Term exponent = -s;
  const auto power = [&](const Term& base) {
    return base.call("aten.pow.Tensor_Tensor", {exponent.value()});
  };
  Term sum = power(q);
  for (int i = 1; i < count; ++i) sum = sum + power(q + i);
  const Term end = q + count, last = power(end), step = 1.0 / (end * end);
  sum = sum + last * 0.5 + last * end / (s - 1);
  Term factor = s / end * last, rest = factor * bernoulli[0];
  for (int j = 1; j < static_cast<int>(std::size(bernoulli)); ++j) {
    factor = factor * ((s + (2 * j - 1)) * (s + 2 * j) * step);
    rest = rest + factor * bernoulli[j];
  }
  // Without a last term there is no rest, and the product of the others may be out of range: in eager, of a
  // sum of 0, it is beyond the number below.
  constexpr double none = std::numeric_limits<double>::quiet_NaN(), most = 2.5e13;
  return sum + where(last == 0, where((sum == 0) & (s > most), none, 0.0), rest);
}

Term zeta_of(const Term& s, const Term& q) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Term whole = floor(q), is_positive = q > 0;
  const Term first = hurwitz(s, where(is_positive, q, q - whole));
  const Term is_odd = s - floor(s * 0.5) * 2.0 == 1;
  const Term second = hurwitz(s, whole + 1 - q), third = hurwitz(s, 1.0 - q);
  const Term mirrored = where(is_odd, first - second + third, first + second - third);
  const Term of_negative = where(q == whole, infinity, where(s == floor(s), mirrored, none));
  return where(s == 1, infinity, where(s < 1, none, where(is_positive | is_nan(q), first, of_negative)));
}

Replacement zeta(Builder& b, const OpCall& call) {
  const Term s = float_operand(b, call, "self").to(ScalarType::F64);
  return result(call, zeta_of(s, float_operand(b, call, "other").to(ScalarType::F64)));
}

// --- derivatives of digamma

Term number(Builder& b, double value) {
  return {b, b.call("aten.scalar_tensor.default", {value, ScalarType::F64})};
}

// Poles are at the same arguments as in eager PyTorch, which computes the sine in the element type.
Term trigamma(Builder& b, const Term& x) {
  const Term sine = sin(x * std::numbers::pi), is_mirrored = x < 0.5;
  const Term pole = std::numbers::pi * std::numbers::pi / (sine * sine);
  const Term place = where(is_mirrored, 1.0 - x, x).to(ScalarType::F64);
  const Term sum = hurwitz(number(b, 2), place);
  const Term y = where(is_mirrored, pole.to(ScalarType::F64) - sum, sum);
  return where(x == infinity, 0.0, y);
}

Replacement polygamma(Builder& b, const OpCall& call) {
  const std::int64_t n = call.integer("n");
  constexpr std::int64_t most = 170;  // more have no factorial in f64
  if (n < 0 || n > most) return argument_error(fmt::format("polygamma of order {} is not supported", n));
  const Term x = float_operand(b, call, "self");
  if (n == 0) return result(call, x.call("aten.digamma.default"));
  if (n == 1) return result(call, trigamma(b, x));
  const double order = static_cast<double>(n) + 1;
  double factor = std::tgamma(order);
  if (x.dtype() != ScalarType::F64) factor = static_cast<float>(factor);  // the type's range applies
  const Term wide = x.to(ScalarType::F64);
  const Term sum = zeta_of(number(b, order), wide);
  return result(call, sum.to(x.dtype()) * (n % 2 == 0 ? -factor : factor));
}

constexpr OpRules zeta_rules() {
  return formula(zeta, PromotesToFloat);
}

}  // namespace

std::span<const OpLine> zeta_ops() {
  static constexpr OpLine lines[] = {
      {"aten.special_zeta(Tensor self, Tensor other)", zeta_rules()},
      {"aten.special_zeta.self_scalar(Scalar self, Tensor other)", zeta_rules()},
      {"aten.special_zeta.other_scalar(Tensor self, Scalar other)", zeta_rules()},
      {"aten.polygamma(int n, Tensor self)", float_formula(polygamma)},
      {"aten.polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.polygamma.default"}},
      {"aten.special_polygamma", renamed<"aten.polygamma.default">(Pointwise)},
  };
  return lines;
}

}  // namespace depute::internal
