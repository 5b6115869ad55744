// Special functions, by formulas in the precision of the element type: products with logarithms, the normal
// distribution, Bessel and gamma functions.
//
//   aten.special_entr.default(%x)       ->       where(x == 0, 0, -x * log(x))
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "ops/math/formula.h"
#include "ops/math/special_series.h"
#include "ops/rename.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- the normal distribution

// exp(z^2) * erfc(z) for z >= 0
Term scaled_erfc(const Term& z) {
  return chebyshev(1.0 - 6.0 / (z + 3), erfcx_series) / (z * 2.0 + 1);
}
Term erfc_of(const Term& x) {
  Term z = abs(x);
  Term tail = exp(-(z * z)) * scaled_erfc(z);
  return where(x < 0, 2.0 - tail, tail);
}
Replacement erfc(Builder& b, const OpCall& call) {
  return result(call, erfc_of(float_operand(b, call, "self")));
}
Replacement erfcx(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  Term tail = scaled_erfc(abs(x));
  return result(call, where(x < 0, exp(x * x) * 2.0 - tail, tail));
}
Replacement ndtr(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  return result(call, erfc_of(x * (-1 / std::numbers::sqrt2)) * 0.5);
}
// Uses log(erfcx(z) / 2) - z^2 far below zero, where the distribution itself underflows.
Replacement log_ndtr(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  Term z = abs(x) * (1 / std::numbers::sqrt2), square = z * z;
  Term scaled = scaled_erfc(z), tail = exp(-square) * scaled;
  Term near = log1p(where(x < 0, 2.0 - tail, tail) * -0.5);
  return result(call, where(x < -1, log(scaled * 0.5) - square, near));
}

// A guess with three correct digits, and two Newton steps on the logarithm of the smaller tail.
Replacement ndtri(Builder& b, const OpCall& call) {
  static constexpr double over[] = {2.515517, 0.802853, 0.010328};
  static constexpr double under[] = {1, 1.432788, 0.189269, 0.001308};
  Term p = float_operand(b, call, "self");
  Term target = log(min(p, 1.0 - p));
  Term t = sqrt(target * -2.0);
  Term x = t - polynomial(t, over) / polynomial(t, under);
  for (int step = 0; step < 2; ++step) {
    Term scaled = scaled_erfc(abs(x) * (1 / std::numbers::sqrt2));
    Term too_large = log(scaled * 0.5) - x * x * 0.5 - target;
    x = x + too_large * scaled * std::sqrt(std::numbers::pi / 2);
  }
  x = where(p < 0.5, -x, x);
  return result(call, where(p == 0, -infinity, where(p == 1, infinity, x)));
}

// Rational guesses for the middle and the tails, and two Newton steps.
Replacement erfinv(Builder& b, const OpCall& call) {
  static constexpr double a[] = {0.886226899, -1.645349621, 0.914624893, -0.140543331};
  static constexpr double c[] = {1, -2.118377725, 1.442710462, -0.329097515, 0.012229801};
  static constexpr double d[] = {-1.970840454, -1.624906493, 3.429567803, 1.641345311};
  static constexpr double e[] = {1, 3.543889200, 1.637067800};
  Term y = float_operand(b, call, "self"), size = abs(y);
  Term square = y * y;
  Term middle = y * polynomial(square, a) / polynomial(square, c);
  Term t = sqrt(-log((1.0 - size) * 0.5));
  Term tail = y.call("aten.sign.default") * polynomial(t, d) / polynomial(t, e);
  Term x = where(size <= 0.7, middle, tail);
  for (int step = 0; step < 2; ++step) {
    Term too_large = x.call("aten.erf.default") - y;
    x = x - too_large / (exp(-(x * x)) * (2 * std::numbers::inv_sqrtpi));
  }
  return result(call, where(size == 1, y * infinity, x));
}

// --- Bessel functions of an imaginary argument, with or without the factor exp(|x|)

Term bessel(const Term& x, std::span<const double> near, std::span<const double> far, bool is_odd) {
  Term z = abs(x);
  Term inner = chebyshev(z * 0.25 - 1, near);
  Term outer = chebyshev(16.0 / z - 1, far) / sqrt(z);
  if (!is_odd) return where(z <= 8, inner, outer);
  return where(z <= 8, inner * x, where(x < 0, -outer, outer));
}
Replacement i0e(Builder& b, const OpCall& call) {
  return result(call, bessel(float_operand(b, call, "self"), i0e_series, i0e_far_series, false));
}
Replacement i1e(Builder& b, const OpCall& call) {
  return result(call, bessel(float_operand(b, call, "self"), i1e_series, i1e_far_series, true));
}
Replacement i0(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  const Term growth = exp(abs(x));
  return result(call, bessel(x, i0e_series, i0e_far_series, false) * growth);
}
Replacement i1(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  const Term growth = exp(abs(x));
  return result(call, bessel(x, i1e_series, i1e_far_series, true) * growth);
}

// --- gamma functions, in f64: Stirling's series for y >= 10; smaller arguments are shifted up
//
// z (z + 1) ... (z + 9) is the product of z^2 + 9z + k (9 - k), each the product of two factors.
constexpr double series_start = 10;
constexpr double pairs[] = {0, 8, 14, 18, 20};

struct Gamma {
  Term x, z, y;                      // z is x, or 1 - x below 1/2; y is z, or z + 10 below 10
  Term is_mirrored, is_small, part;  // part is x - round(x), exact even close to a pole

  explicit Gamma(const Term& given)
      : x(given),
        z(where(given < 0.5, 1.0 - given, given)),
        y(where(z < series_start, z + series_start, z)),
        is_mirrored(given < 0.5),
        is_small(z < series_start),
        part(given - given.call("aten.round.default")) {}
};
Term lgamma_of(const Term& argument) {
  static constexpr double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
  Gamma g(argument);
  Term q = (g.z + 9) * g.z, factors = q;
  for (double pair : std::span(pairs).subspan(1)) factors = factors * (q + pair);
  Term inverse = 1.0 / g.y;
  Term sum = (g.y - 0.5) * log(g.y) - g.y + 0.5 * std::log(2 * std::numbers::pi);
  sum = sum + polynomial(inverse * inverse, series) * inverse;
  sum = where(g.is_small, sum - log(factors), sum);
  Term mirrored = log(std::numbers::pi / abs(sin(g.part * std::numbers::pi))) - sum;
  return where(abs(g.x) == infinity, infinity, where(g.is_mirrored, mirrored, sum));
}
Replacement lgamma(Builder& b, const OpCall& call) {
  return result(call, lgamma_of(float_operand(b, call, "self").to(ScalarType::F64)));
}
Replacement mvlgamma(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self").to(ScalarType::F64);
  std::int64_t p = call.integer("p");
  constexpr std::int64_t most = 256;
  if (p < 1 || p > most) return argument_error(fmt::format("mvlgamma with p={} is not supported", p));
  auto n = static_cast<double>(p);
  Term sum = lgamma_of(x) + n * (n - 1) / 4 * std::log(std::numbers::pi);
  for (std::int64_t i = 1; i < p; ++i) sum = sum + lgamma_of(x - static_cast<double>(i) / 2);
  return result(call, sum);
}
Replacement digamma(Builder& b, const OpCall& call) {
  static constexpr double series[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760};
  Gamma g(float_operand(b, call, "self").to(ScalarType::F64));
  Term q = (g.z + 9) * g.z, raised = 1.0 / q;
  for (double pair : std::span(pairs).subspan(1)) raised = raised + 1.0 / (q + pair);
  Term inverse = 1.0 / g.y, square = inverse * inverse;
  Term sum = log(g.y) - inverse * 0.5 - polynomial(square, series) * square;
  sum = where(g.is_small, sum - raised * (g.z * 2.0 + 9), sum);
  Term mirrored = sum - std::numbers::pi / (g.part * std::numbers::pi).call("aten.tan.default");
  mirrored = where(g.part == 0, std::numeric_limits<double>::quiet_NaN(), mirrored);
  return result(call, where(g.x == 0, -(1.0 / g.x), where(g.is_mirrored, mirrored, sum)));
}

// A product with a logarithm: 0 if the factor is 0, unless the logarithm's argument is NaN.
constexpr OpRules product_rules(OpFlag flags = None) {
  return formula(wide_text<"where((self == 0) & !isnan(other), 0.0, self * log(other))">,
                 PromotesToFloat | flags);
}
constexpr OpRules product1p_rules() {
  return formula(wide_text<"where((self == 0) & !isnan(other), 0.0, self * log1p(other))">, PromotesToFloat);
}

}  // namespace

std::span<const OpLine> special_ops() {
  static constexpr OpLine lines[] = {
      {"aten.xlogy.Tensor(Tensor self, Tensor other)",
       written_by("xlogy.OutTensor", product_rules(InPlaceVariant))},
      {"aten.xlogy.Scalar_Other(Tensor self, Scalar other)",
       written_by("xlogy.OutScalar_Other", product_rules(InPlaceVariant))},
      {"aten.xlogy.Scalar_Self(Scalar self, Tensor other)",
       written_by("xlogy.OutScalar_Self", product_rules())},
      {"aten.special_xlogy(Tensor self, Tensor other)", product_rules()},
      {"aten.special_xlogy.other_scalar(Tensor self, Scalar other)", product_rules()},
      {"aten.special_xlogy.self_scalar(Scalar self, Tensor other)", product_rules()},
      {"aten.special_xlog1py(Tensor self, Tensor other)", product1p_rules()},
      {"aten.special_xlog1py.other_scalar(Tensor self, Scalar other)", product1p_rules()},
      {"aten.special_xlog1py.self_scalar(Scalar self, Tensor other)", product1p_rules()},
      {"aten.special_entr(Tensor self)",
       float_formula(wide_text<"where(self == 0, 0.0, where(self < 0, -inf, -self * log(self)))">)},
      {"aten.sinc(Tensor self)",
       float_formula(wide_text<"angle = self * pi; where(self == 0, 1.0, sin(angle) / angle)">,
                     InPlaceVariant)},
      {"aten.exp2(Tensor self)", float_formula(wide_text<"power_of_two(self)">, InPlaceVariant)},
      {"aten.erfc(Tensor self)", float_formula(erfc, InPlaceVariant)},
      {"aten.erfinv(Tensor self)", float_formula(erfinv, InPlaceVariant)},
      {"aten.i0(Tensor self)", float_formula(i0, InPlaceVariant)},
      {"aten.lgamma(Tensor self)", float_formula(lgamma, InPlaceVariant)},
      {"aten.digamma(Tensor self)", float_formula(digamma, InPlaceVariant)},
      {"aten.special_erfcx(Tensor self)", float_formula(erfcx)},
      {"aten.special_ndtr(Tensor self)", float_formula(ndtr)},
      {"aten.special_log_ndtr(Tensor self)", float_formula(log_ndtr)},
      {"aten.special_ndtri(Tensor self)", float_formula(ndtri)},
      {"aten.special_i0e(Tensor self)", float_formula(i0e)},
      {"aten.special_i1(Tensor self)", float_formula(i1)},
      {"aten.special_i1e(Tensor self)", float_formula(i1e)},
      {"aten.mvlgamma(Tensor self, int p)", float_formula(mvlgamma, InPlaceVariant)},
      {"aten.special_multigammaln(Tensor self, int p)", float_formula(mvlgamma)},
      // other names
      {"aten.special_sinc", renamed<"aten.sinc.default">(Pointwise)},
      {"aten.special_exp2", renamed<"aten.exp2.default">(Pointwise)},
      {"aten.special_expm1", renamed<"aten.expm1.default">(Pointwise)},
      {"aten.special_log1p", renamed<"aten.log1p.default">(Pointwise)},
      {"aten.special_expit", renamed<"aten.sigmoid.default">(Pointwise)},
      {"aten.special_logit", renamed<"aten.logit.default">(Pointwise)},
      {"aten.special_erf", renamed<"aten.erf.default">(Pointwise)},
      {"aten.special_erfc", renamed<"aten.erfc.default">(Pointwise)},
      {"aten.special_erfinv", renamed<"aten.erfinv.default">(Pointwise)},
      {"aten.special_i0", renamed<"aten.i0.default">(Pointwise)},
      {"aten.special_gammaln", renamed<"aten.lgamma.default">(Pointwise)},
      {"aten.special_digamma", renamed<"aten.digamma.default">(Pointwise)},
      {"aten.special_psi", renamed<"aten.digamma.default">(Pointwise)},
      {"aten.special_softmax", renamed<"aten.softmax.int">()},
      {"aten.special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None)",
       renamed<"aten.log_softmax.int">()},
  };
  return lines;
}

}  // namespace depute::internal
