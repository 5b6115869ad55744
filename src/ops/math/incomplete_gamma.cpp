// The incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), in f64. The smaller of the two is
// computed, in one of three ways that take the same number of steps for every element.
//
//   x < 2        power series in x
//   a < 1e8      x^a exp(-x) / gamma(a) times the integral of exp(a v - x (exp(v) - 1)), from 0 to where
//                the integrand vanishes: to the left for P (x <= a), to the right for Q (x > a).
//                In suitable steps the integrand is smooth, so Gauss's rule needs few points.
//   otherwise    the normal distribution and corrections for large a
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "ops/math/formula.h"
#include "ops/rename.h"

namespace depute::internal {
namespace {

constexpr double series_end = 2, integral_end = 1e8, stirling_start = 10;

// Returns points y and weights of an integral from 0 to 60, by Gauss-Legendre quadrature in y / (y + 9).
std::vector<std::pair<double, double>> rule_of_gauss(int count) {
  constexpr double middle = 9, end = 60, part = end / (end + middle);
  std::vector<std::pair<double, double>> rule;
  for (int i = 0; i < count; ++i) {
    double z = std::cos(std::numbers::pi * (i + 0.75) / (count + 0.5)), slope = 1;
    for (int step = 0; step < 8; ++step) {
      double before = 1, latest = z;
      for (int k = 1; k < count; ++k) {
        before = std::exchange(latest, ((2 * k + 1) * z * latest - k * before) / (k + 1));
      }
      slope = count * (z * latest - before) / (z * z - 1);
      z -= latest / slope;
    }
    const double u = (z + 1) / 2 * part, rest = 1 - u;
    rule.emplace_back(middle * u / rest, middle / (rest * rest) * part / ((1 - z * z) * slope * slope));
  }
  return rule;
}

struct IncompleteGamma {
  Term a, x, is_below, excess;  // P is the smaller one where x <= a; excess is (x - a) / a
  bool is_wide;

  IncompleteGamma(Builder& b, const OpCall& call)
      : a(float_operand(b, call, "self").to(ScalarType::F64)),
        x(float_operand(b, call, "other").to(ScalarType::F64)),
        is_below(x <= a),
        excess((x - a) / a),
        is_wide(promoted_type(call) == ScalarType::F64) {}

  // log(x / a) - excess, at most 0
  Term log_peak() const {
    static constexpr double series[] = {-1.0 / 2, 1.0 / 3, -1.0 / 4, 1.0 / 5, -1.0 / 6, 1.0 / 7, -1.0 / 8};
    const Term near = excess * excess * polynomial(excess, series);
    const Term size = abs(excess);
    return where(size < 0.005, near, where(size < 0.5, log1p(excess), log(x / a)) - excess);
  }
  // x^a exp(-x) / gamma(a)
  Term factor() const {
    static constexpr double series[] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                        -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};
    const Term inverse = 1.0 / a;
    const Term root = sqrt(a * (0.5 * std::numbers::inv_pi));
    const Term correction = polynomial(inverse * inverse, series) * inverse;
    const Term large = exp(a * log_peak() - correction) * root;
    const Term small = exp(a * log(x) - x - a.call("aten.lgamma.default"));
    return where(a >= stirling_start, large, small);
  }
  // Returns the smaller one of P and Q for x >= 2.
  Term by_integral() const {
    const Term width = 1.0 / (abs(a - x) + sqrt(min(a, x)) + 1.0), step = where(is_below, -width, width);
    const Term rate = a * step;
    Term sum = width.call("aten.zeros_like.default");
    for (const auto& [y, weight] : rule_of_gauss(is_wide ? 48 : 28)) {
      const Term exponent = rate * y - x * expm1(step * y);
      sum = sum + exp(exponent) * weight;
    }
    return factor() * sum * width;
  }
  Term by_normal_distribution() const {
    static constexpr double series[] = {-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864};
    const Term height = log_peak() * -2.0, size = sqrt(height);
    const Term offset = polynomial(where(is_below, -size, size), series) - 1.0 / (a * 540.0);
    const Term density = exp(a * height * -0.5) / sqrt(a * (2 * std::numbers::pi)) * offset;
    const Term tail = (sqrt(a * 0.5) * size).call("aten.erfc.default") * 0.5;
    return where(is_below, tail - density, tail + density);
  }
  Term smaller() const {
    const Term far = by_normal_distribution(), near = by_integral();
    return where(a < integral_end, near, far);
  }

  // log(x^a / gamma(a + 1)); for small a by a power series, which preserves the precision of Q
  Term log_power() const {
    static constexpr double series[] = {-0.57721566490153286, 0.82246703342411322,   -0.40068563438653143,
                                        0.27058080842778455,  -0.20738555102867399,  0.16955717699740819,
                                        -0.14404989676884612, 0.12550966952474304,   -0.11133426586956469,
                                        0.10009945751278181,  -0.090954017145829042, 0.083353840546109004,
                                        -0.076932516411352191};
    const Term near = a * polynomial(a, series);
    return a * log(x) - where(a < 0.0625, near, (a + 1.0).call("aten.lgamma.default"));
  }
  static constexpr int terms = 26;
  Term p_by_series() const {
    Term term = x.call("aten.ones_like.default"), sum = term;
    for (int k = 1; k <= terms; ++k) {
      term = term * (x / (a + k));
      sum = sum + term;
    }
    return exp(log_power() - x) * sum;
  }
  Term q_by_series() const {
    Term power = -x, sum = power / (a + 1.0);
    for (int k = 2; k <= terms; ++k) {
      power = power * x * (-1.0 / k);
      sum = sum + power / (a + k);
    }
    const Term logarithm = log_power();
    return -expm1(logarithm) - exp(logarithm) * a * sum;
  }

  // Sets the limits: `first` for x = 0 and for infinite a, `last` for infinite x and for a = 0.
  Term with_limits(const Term& y, double first, double last) const {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const Term is_end = x == infinity, is_large = a == infinity;
    Term result = where(is_large, where(is_end, none, first), where(is_end, last, y));
    result = where(a == 0, where(x > 0, last, none), where(x == 0, first, result));
    return where((x < 0) | (a < 0), none, result);
  }
};

Replacement igamma(Builder& b, const OpCall& call) {
  const IncompleteGamma gamma(b, call);
  const Term smaller = gamma.smaller();
  const Term y = where(gamma.is_below, smaller, 1.0 - smaller);
  return result(call, gamma.with_limits(where(gamma.x < series_end, gamma.p_by_series(), y), 0, 1));
}
Replacement igammac(Builder& b, const OpCall& call) {
  const IncompleteGamma gamma(b, call);
  const Term smaller = gamma.smaller();
  const Term y = where(gamma.is_below, 1.0 - smaller, smaller);
  return result(call, gamma.with_limits(where(gamma.x < series_end, gamma.q_by_series(), y), 1, 0));
}

}  // namespace

std::span<const OpLine> incomplete_gamma_ops() {
  static constexpr OpLine lines[] = {
      {"aten.igamma(Tensor self, Tensor other)", formula(igamma, InPlaceVariant)},
      {"aten.igammac(Tensor self, Tensor other)", formula(igammac, InPlaceVariant)},
      {"aten.special_gammainc", renamed<"aten.igamma.default">(Pointwise)},
      {"aten.special_gammaincc", renamed<"aten.igammac.default">(Pointwise)},
  };
  return lines;
}

}  // namespace depute::internal
