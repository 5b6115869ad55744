// Orthogonal polynomials; the degree n is a number or a tensor.
//
// Chebyshev's are trigonometric functions of n * acos(x), or hyperbolic ones of n * acosh(x), for any degree.
// The others are summed by their recurrences, up to the constant degree. Hermite's stop at the highest degree
// that eager PyTorch computes. Degree tensors of Laguerre's and Legendre's must have 8 bits.
//
//   %y = aten.special_hermite_polynomial_he.n_scalar(%x, 2)     ->     %m = aten.mul.Tensor(%x, %x)
//                                                                      %y = aten.sub.Tensor(%m, 1)
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "ops/math/formula.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Degrees are truncated to 64-bit integers; a degree out of range counts as negative and gives 0.
constexpr double degrees_end = 9223372036854775808.0;

Formula is_degree(const Term& n) {
  return (n >= 0) & (n < degrees_end);
}

// --- Chebyshev's, in f64: formulas for x >= 0; the parity of n for other x

enum class Chebyshev { T, U, V, W };

// For 0 <= x < 1; `angle` is acos(x).
Term chebyshev_inside(Chebyshev kind, const Term& n, const Term& angle) {
  switch (kind) {
    case Chebyshev::T:
      return cos(n * angle);
    case Chebyshev::U:
      return sin((n + 1.0) * angle) / sin(angle);
    case Chebyshev::V:
      return cos((n + 0.5) * angle) / cos(angle * 0.5);
    case Chebyshev::W:
      return sin((n + 0.5) * angle) / sin(angle * 0.5);
  }
  return n;
}
// For x > 1; `t` is acosh(x). exp(n * t) is computed separately, so that nothing else overflows.
Term chebyshev_outside(Chebyshev kind, const Term& n, const Term& t) {
  const Term height = n * t;
  switch (kind) {
    case Chebyshev::T:
      return exp(height - std::numbers::ln2) * (exp(height * -2.0) + 1.0);
    case Chebyshev::U:
      return exp(height) * (expm1((n + 1.0) * t * -2.0) / expm1(t * -2.0));
    case Chebyshev::V:
      return exp(height) * ((exp((n + 0.5) * t * -2.0) + 1.0) / (exp(-t) + 1.0));
    case Chebyshev::W:
      return exp(height) * (expm1((n + 0.5) * t * -2.0) / expm1(-t));
  }
  return n;
}
// Returns NaN where the recurrence would have overflowed two steps before.
Term chebyshev_of_size(Chebyshev kind, const Term& n, const Term& size, double largest) {
  const Term angle = size.call("aten.acos.default"), t = size.call("aten.acosh.default");
  const Term inside = chebyshev_inside(kind, n, angle), outside = chebyshev_outside(kind, n, t);
  const Term is_lost = (n >= 2) & (chebyshev_outside(kind, n - 2.0, t) > largest);
  const Term all = where(size < 1, inside, where(is_lost, std::numeric_limits<double>::quiet_NaN(), outside));
  if (kind == Chebyshev::U) return where(size == 1, n + 1.0, all);
  if (kind == Chebyshev::W) return where(size == 1, n * 2.0 + 1.0, all);
  return where(size == 1, 1.0, all);
}

Replacement chebyshev_polynomial(Builder& b, const OpCall& call, Chebyshev kind, bool is_shifted) {
  Term given = float_operand(b, call, "x");
  const bool is_wide = given.dtype() == ScalarType::F64;
  if (is_shifted) given = given * 2.0 - 1.0;
  const Term x = given.to(ScalarType::F64), size = abs(x);
  const Term n = trunc(float_operand(b, call, "n").to(ScalarType::F64));
  // In f32, overflow begins half a unit in the last place above the largest number.
  const double largest = is_wide ? std::numeric_limits<double>::max() : 0x1.ffffffp127;
  Term y = chebyshev_of_size(kind, n, size, largest);
  // V(-x) equals W(x) except for the sign.
  if (kind == Chebyshev::V) y = where(x < 0, chebyshev_of_size(Chebyshev::W, n, size, largest), y);
  if (kind == Chebyshev::W) y = where(x < 0, chebyshev_of_size(Chebyshev::V, n, size, largest), y);
  const Term is_odd = n - floor(n * 0.5) * 2.0 == 1;
  y = where((x < 0) & is_odd, -y, y);
  return result(call, where(is_degree(n), where(n == 0, 1.0, y), 0.0));
}

// --- recurrences, in the type that eager PyTorch computes in, to match its rounding and range

struct Recurrence {
  // Returns the polynomial of degree k + 1 from degree k and from `before`: degree k - 1, multiplied by k *
  // factor.
  using Next = Formula (*)(const Term& x, double k, const Term& latest, const Term& before);
  Formula (*first)(const Term& x);
  Next next;
  double factor = 1;
  // Eager PyTorch returns no value above a limit, and rounds two products and their sum twice instead of
  // three times, which affects overflow.
  bool is_hermite = false;
};

Formula itself(const Term& x) {
  return x;
}
constexpr Recurrence hermite_h = {.first = [](const Term& x) { return x * 2.0; },
                                  .next = [](const Term& x, double, const Term& latest,
                                             const Term& before) { return x * 2.0 * latest - before; },
                                  .factor = 2,
                                  .is_hermite = true};
constexpr Recurrence hermite_he = {
    .first = itself,
    .next = [](const Term& x, double, const Term& latest, const Term& before) { return x * latest - before; },
    .is_hermite = true};
constexpr Recurrence laguerre_l = {
    .first = [](const Term& x) { return 1.0 - x; },
    .next = [](const Term& x, double k, const Term& latest,
               const Term& before) { return ((1.0 - x + 2 * k) * latest - before) / (k + 1); }};
constexpr Recurrence legendre_p = {
    .first = itself, .next = [](const Term& x, double k, const Term& latest, const Term& before) {
      return (x * (2 * k + 1) * latest - before) / (k + 1);
    }};

constexpr int max_degree = 512;

// Calls visit(k, polynomial of degree k) for k = 0, 1, ... last.
template <typename Visit>
void for_each_degree(const Recurrence& recurrence, const Term& given, int last, Visit&& visit) {
  const bool is_widened = recurrence.is_hermite && given.dtype() == ScalarType::F32;
  const Term x = is_widened ? given.to(ScalarType::F64) : Formula(given);
  const auto rounded = [&](const Term& y) -> Term {
    return is_widened ? y.to(ScalarType::F32).to(ScalarType::F64) : Formula(y);
  };
  Term before = x.call("aten.ones_like.default");
  visit(0, before);
  if (last == 0) return;
  Term latest = rounded(recurrence.first(x));
  visit(1, latest);
  for (int k = 1; k < last; ++k) {
    const Term next = rounded(recurrence.next(x, k, latest, rounded(before * (k * recurrence.factor))));
    before = latest;
    latest = next;
    visit(k + 1, latest);
  }
}

// Returns the highest degree that the type can hold; nullopt if that needs too many steps.
std::optional<int> highest_degree(ScalarType dtype) {
  if (dtype == ScalarType::Bool) return 1;
  if (dtype == ScalarType::I8) return 127;
  if (dtype == ScalarType::U8) return 255;
  return std::nullopt;
}

Replacement of_constant_degree(Builder& b, const OpCall& call, const Recurrence& recurrence, double n,
                               int limit) {
  const Term x = float_operand(b, call, "x");
  const Term zero = x.call("aten.zeros_like.default");
  if (!(n >= 0 && n < degrees_end)) return result(call, zero);
  if (recurrence.is_hermite && n >= limit + 1) {
    return result(call, zero + std::numeric_limits<double>::quiet_NaN());
  }
  if (n >= max_degree + 1) {
    return argument_error(fmt::format("a polynomial of degree {}; the limit is {}", n, max_degree));
  }
  Term y = zero;
  for_each_degree(recurrence, x, static_cast<int>(n), [&](int, const Term& latest) { y = latest; });
  return result(call, y);
}

Replacement by_recurrence(Builder& b, const OpCall& call, const Recurrence* of) {
  const Recurrence& recurrence = *of;
  const ScalarType type = computing_type(promoted_type(call));
  const int limit = type == ScalarType::F64 ? 512 : 128;
  const Argument& degree = call["n"];
  if (degree.is_number()) {
    double n = degree.as_double();
    if (type != ScalarType::F64) n = static_cast<float>(n);
    n = std::trunc(n);
    return of_constant_degree(b, call, recurrence, n, limit);
  }
  const bool is_tensor = degree.is_value() && degree.as_value()->type().is_tensor();
  std::optional<int> last = is_tensor ? highest_degree(degree.as_value()->tensor().dtype) : std::nullopt;
  if (recurrence.is_hermite) last = std::min(last.value_or(limit), limit);
  if (!last) return type_error("the degree of the polynomial must be a constant number or an 8-bit tensor");
  const Term x = float_operand(b, call, "x"), n = trunc(float_operand(b, call, "n"));
  Term y = where(is_degree(n), std::numeric_limits<double>::quiet_NaN(), x.call("aten.zeros_like.default"));
  for_each_degree(recurrence, x, *last, [&](int k, const Term& latest) { y = where(n == k, latest, y); });
  return result(call, y);
}

constexpr OpRules polynomial_rules(DecomposeFunction decompose) {
  return formula(decompose, PromotesToFloat, "x n");
}

}  // namespace

std::span<const OpLine> polynomial_ops() {
  using enum Chebyshev;
#define DEPUTE_POLYNOMIAL(name, decompose)                                                   \
  {"aten.special_" name "(Tensor x, Tensor n)", polynomial_rules(decompose)},                \
      {"aten.special_" name ".x_scalar(Scalar x, Tensor n)", polynomial_rules(decompose)}, { \
    "aten.special_" name ".n_scalar(Tensor x, Scalar n)", polynomial_rules(decompose)        \
  }
  static constexpr OpLine lines[] = {
      DEPUTE_POLYNOMIAL("chebyshev_polynomial_t", (given<chebyshev_polynomial, T, false>)),
      DEPUTE_POLYNOMIAL("chebyshev_polynomial_u", (given<chebyshev_polynomial, U, false>)),
      DEPUTE_POLYNOMIAL("chebyshev_polynomial_v", (given<chebyshev_polynomial, V, false>)),
      DEPUTE_POLYNOMIAL("chebyshev_polynomial_w", (given<chebyshev_polynomial, W, false>)),
      DEPUTE_POLYNOMIAL("shifted_chebyshev_polynomial_t", (given<chebyshev_polynomial, T, true>)),
      DEPUTE_POLYNOMIAL("shifted_chebyshev_polynomial_u", (given<chebyshev_polynomial, U, true>)),
      DEPUTE_POLYNOMIAL("shifted_chebyshev_polynomial_v", (given<chebyshev_polynomial, V, true>)),
      DEPUTE_POLYNOMIAL("shifted_chebyshev_polynomial_w", (given<chebyshev_polynomial, W, true>)),
      DEPUTE_POLYNOMIAL("hermite_polynomial_h", (given<by_recurrence, &hermite_h>)),
      DEPUTE_POLYNOMIAL("hermite_polynomial_he", (given<by_recurrence, &hermite_he>)),
      DEPUTE_POLYNOMIAL("laguerre_polynomial_l", (given<by_recurrence, &laguerre_l>)),
      DEPUTE_POLYNOMIAL("legendre_polynomial_p", (given<by_recurrence, &legendre_p>)),
  };
#undef DEPUTE_POLYNOMIAL
  return lines;
}

}  // namespace depute::internal
