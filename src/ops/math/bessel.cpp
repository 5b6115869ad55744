// Bessel's and Airy's functions, by series in the precision of the element type. Near zero the series is of
// the even function that remains without powers and logarithms. Far from zero it is of the amplitude and
// phase of an oscillation, or of the slow factor of growth or decay.
//
//   %y = aten.special_bessel_j0.default(%x)
//   ->  where(abs(x) <= 5, (x^2 - z^2) * series(x^2), (p * cos(abs(x) - pi / 4) - ...) / sqrt(abs(x)))
#include "ops/math/bessel_series.h"

#include <limits>
#include <numbers>

#include "ops/math/formula.h"
#include "ops/rename.h"

namespace depute::internal {
namespace {

constexpr double two_by_pi = 2 / std::numbers::pi;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// --- first and second kind; the phase is computed in the element type, like in eager PyTorch

struct Order {
  double phase;
  std::span<const double> amplitude, offset;
};
constexpr Order order_0 = {std::numbers::pi / 4, p0_series, q0_series};
constexpr Order order_1 = {std::numbers::pi * 3 / 4, p1_series, q1_series};

struct Wave {
  Term angle, amplitude, offset, root;

  Wave(const Term& x, const Order& order)
      : angle(x - order.phase),
        amplitude(chebyshev(50.0 / (x * x) - 1, order.amplitude)),
        offset(chebyshev(50.0 / (x * x) - 1, order.offset) / x),
        root(sqrt(x)) {}
  Term first_kind() const { return (amplitude * cos(angle) - offset * sin(angle)) / root; }
  Term second_kind() const { return (amplitude * sin(angle) + offset * cos(angle)) / root; }
};

constexpr double near_end = 5;

Formula near_place(const Term& x) {
  return x * x * (2 / (near_end * near_end)) - 1;
}
Formula j0_near(const Term& x) {
  return (x * x - j0_zero_squared) * chebyshev(near_place(x), j0_series);
}
Formula j1_near(const Term& x) {
  return x * (x * x - j1_zero_squared) * chebyshev(near_place(x), j1_series);
}

Replacement bessel_j0(Builder& b, const OpCall& call) {
  const Term x = abs(float_operand(b, call, "self"));
  return result(call, where(x <= near_end, j0_near(x), Wave(x, order_0).first_kind()));
}
Replacement bessel_j1(Builder& b, const OpCall& call) {
  const Term x = float_operand(b, call, "self"), size = abs(x);
  const Term far = Wave(size, order_1).first_kind();
  return result(call, where(size <= near_end, j1_near(x), where(x < 0, -far, far)));
}
Replacement bessel_y0(Builder& b, const OpCall& call) {
  const Term x = float_operand(b, call, "self");
  const Term near = chebyshev(near_place(x), y0_series) + log(x) * j0_near(x) * two_by_pi;
  return result(call, where(x <= near_end, near, Wave(x, order_0).second_kind()));
}
Replacement bessel_y1(Builder& b, const OpCall& call) {
  const Term x = float_operand(b, call, "self");
  const Term singular = (log(x) * j1_near(x) - 1.0 / x) * two_by_pi;
  const Term near = where(x == 0, -infinity, chebyshev(near_place(x), y1_series) * x + singular);
  return result(call, where(x <= near_end, near, Wave(x, order_1).second_kind()));
}

Replacement spherical_bessel_j0(Builder& b, const OpCall& call) {
  const Term x = float_operand(b, call, "x");
  return result(call, where(x == 0, 1.0, where(abs(x) == infinity, 0.0, sin(x) / x)));
}

// --- modified functions of the second kind

constexpr double modified_near_end = 2;

Replacement modified(const OpCall& call, const Term& x, bool is_scaled, const Term& near,
                     std::span<const double> far_series) {
  const Term far = chebyshev(4.0 / x - 1, far_series);
  return result(call, where(x <= modified_near_end, is_scaled ? near * exp(x) : Formula(near),
                            (is_scaled ? Formula(far) : exp(-x) * far) / sqrt(x)));
}
Replacement modified_k0(const OpCall& call, const Term& x, bool is_scaled) {
  const Term place = x * x * 0.5 - 1;
  const Term near = chebyshev(place, k0_series) - log(x * 0.5) * chebyshev(place, i0_near_series);
  return modified(call, x, is_scaled, near, k0_far_series);
}
Replacement modified_k1(const OpCall& call, const Term& x, bool is_scaled) {
  const Term place = x * x * 0.5 - 1;
  const Term rest = log(x * 0.5) * x * chebyshev(place, i1_near_series);
  const Term near = where(x == 0, infinity, chebyshev(place, k1_series) / x + rest);
  return modified(call, x, is_scaled, near, k1_far_series);
}
Replacement bessel_k0(Builder& b, const OpCall& call) {
  return modified_k0(call, float_operand(b, call, "self"), false);
}
Replacement bessel_k1(Builder& b, const OpCall& call) {
  return modified_k1(call, float_operand(b, call, "self"), false);
}
Replacement scaled_bessel_k0(Builder& b, const OpCall& call) {
  return modified_k0(call, float_operand(b, call, "x"), true);
}
Replacement scaled_bessel_k1(Builder& b, const OpCall& call) {
  return modified_k1(call, float_operand(b, call, "x"), true);
}

// --- Airy's function; eager PyTorch returns 0 above the last argument, and NaN for infinities

Replacement airy_ai(Builder& b, const OpCall& call) {
  constexpr double left = -4, right = 2, last = 103.892;
  constexpr double left_phase = 16.0 / 3, right_phase = 4 * std::numbers::sqrt2 / 3;
  const Term x = float_operand(b, call, "x"), size = abs(x);
  const Term phase = size * 2.0 * sqrt(size) / 3, root = sqrt(sqrt(size));
  const Term middle = chebyshev((x + 1) / 3, airy_series);
  const Term above = chebyshev(2 * right_phase / phase - 1, airy_far_series) / (root * 2.0 * exp(phase));
  const Term ratio = left_phase / phase, place = ratio * ratio * 2.0 - 1,
             angle = phase + std::numbers::pi / 4;
  const Term amplitude = chebyshev(place, airy_p_series), offset = chebyshev(place, airy_q_series) / phase;
  const Term below = (amplitude * sin(angle) - offset * cos(angle)) / root;
  const Term y = where(x < left, below, where(x > right, where(x > last, 0.0, above), middle));
  return result(call, where(size == infinity, no_number, y));
}

constexpr OpRules of_x(DecomposeFunction decompose) {
  return formula(decompose, PromotesToFloat, "x");
}

}  // namespace

std::span<const OpLine> bessel_ops() {
  static constexpr OpLine lines[] = {
      {"aten.special_bessel_j0(Tensor self)", float_formula(bessel_j0)},
      {"aten.special_bessel_j1(Tensor self)", float_formula(bessel_j1)},
      {"aten.special_bessel_y0(Tensor self)", float_formula(bessel_y0)},
      {"aten.special_bessel_y1(Tensor self)", float_formula(bessel_y1)},
      {"aten.special_spherical_bessel_j0(Tensor x)", of_x(spherical_bessel_j0)},
      {"aten.special_modified_bessel_i0", renamed<"aten.i0.default">(Pointwise)},
      {"aten.special_modified_bessel_i1", renamed<"aten.special_i1.default">(Pointwise)},
      {"aten.special_modified_bessel_k0(Tensor self)", float_formula(bessel_k0)},
      {"aten.special_modified_bessel_k1(Tensor self)", float_formula(bessel_k1)},
      {"aten.special_scaled_modified_bessel_k0(Tensor x)", of_x(scaled_bessel_k0)},
      {"aten.special_scaled_modified_bessel_k1(Tensor x)", of_x(scaled_bessel_k1)},
      {"aten.special_airy_ai(Tensor x)", of_x(airy_ai)},
  };
  return lines;
}

}  // namespace depute::internal
