// Window functions of signal processing, which are folded into constants.
//
//   aten.hann_window.default(4)  ->  0.5 - 0.5 * cos(arange(4) * (2 pi / 4))
#include <cmath>
#include <numbers>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

using std::numbers::pi;

// Maximum length of a window: 1 GiB of f32.
constexpr std::int64_t max_length = std::int64_t{1} << 28;

Types infer_window(const OpCall& call) {
  const std::int64_t length = call.integer("window_length");
  const ScalarType dtype = dtype_or(call, ScalarType::F32);
  if (length < 0 || length > max_length) return argument_error("the window length is out of range");
  if (!is_floating(dtype)) return argument_error("a window requires a floating-point dtype");
  return tensor_result(dtype, {length});
}

bool has_argument(const OpCall& call, std::string_view name) {
  return call.def().arg_index(Name(name)) >= 0;
}
double number_or(const OpCall& call, std::string_view name, double otherwise) {
  return has_argument(call, name) ? call[name].as_double() : otherwise;
}

// Builds the window as a function of the positions 0, 1, .. and of the last position.
template <typename Shape>
Replacement window(Builder& b, const OpCall& call, const Shape& shape) {
  TRY(std::vector<Type> types, infer_window(call));
  const TensorType& type = types[0].tensor;
  const std::int64_t length = call.integer("window_length");
  if (length <= 1) return one(b.call("aten.full.default", {type.sizes, 1, type.dtype}));
  // A periodic window is a symmetric one without its last element.
  const bool is_periodic = !has_argument(call, "periodic") || call.boolean("periodic");
  const auto last = static_cast<double>(is_periodic ? length : length - 1);
  const Term position(b, range(b, SymInt(length), compute_type(type.dtype)));
  return result(call, shape(position, last));
}

// alpha - beta cos(2 pi x / last)
Term raised_cosine(const Term& x, double last, double alpha, double beta) {
  return cos(x * (2 * pi / last)) * -beta + alpha;
}

Replacement hann(Builder& b, const OpCall& call) {
  return window(b, call, [](const Term& x, double last) { return raised_cosine(x, last, 0.5, 0.5); });
}
Replacement hamming(Builder& b, const OpCall& call) {
  const double alpha = number_or(call, "alpha", 0.54), beta = number_or(call, "beta", 0.46);
  return window(b, call, [&](const Term& x, double last) { return raised_cosine(x, last, alpha, beta); });
}
Replacement blackman(Builder& b, const OpCall& call) {
  return window(b, call, [](const Term& x, double last) {
    const Term angle = x * (pi / last);
    return cos(angle * 4) * 0.08 - cos(angle * 2) * 0.5 + 0.42;
  });
}
// Rises to 1 in the middle, then falls.
Replacement bartlett(Builder& b, const OpCall& call) {
  return window(b, call, [](const Term& x, double last) {
    const Term rising = x * (2 / last);
    return min(rising, 2.0 - rising);
  });
}
// I0(beta sqrt(1 - (2 x / last - 1)^2)) / I0(beta)
Replacement kaiser(Builder& b, const OpCall& call) {
  const double beta = number_or(call, "beta", 12);
  return window(b, call, [&](const Term& x, double last) {
    const Term ratio = x * (2 / last) - 1.0;
    const Term root = sqrt(1.0 - ratio * ratio);
    const Term whole(b, b.call("aten.full.default", {Dims{}, beta, x.dtype()}));
    return (root * beta).call("aten.i0.default") / whole.call("aten.i0.default");
  });
}

}  // namespace

std::span<const OpLine> window_function_ops() {
  static constexpr OpLine lines[] = {
      {"aten.hann_window(int window_length, *, ScalarType? dtype=None, ...)", composite(infer_window, hann)},
      {"aten.hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...)",
       composite(infer_window, hann)},
      {"aten.hamming_window(int window_length, *, ScalarType? dtype=None, ...)",
       composite(infer_window, hamming)},
      {"aten.hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...)",
       composite(infer_window, hamming)},
      {"aten.hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? "
       "dtype=None, ...)",
       composite(infer_window, hamming)},
      {"aten.hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, "
       "*, ScalarType? dtype=None, ...)",
       composite(infer_window, hamming)},
      {"aten.blackman_window(int window_length, *, ScalarType? dtype=None, ...)",
       composite(infer_window, blackman)},
      {"aten.blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...)",
       composite(infer_window, blackman)},
      {"aten.bartlett_window(int window_length, *, ScalarType? dtype=None, ...)",
       composite(infer_window, bartlett)},
      {"aten.bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...)",
       composite(infer_window, bartlett)},
      {"aten.kaiser_window(int window_length, *, ScalarType? dtype=None, ...)",
       composite(infer_window, kaiser)},
      {"aten.kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...)",
       composite(infer_window, kaiser)},
      {"aten.kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, "
       "...)",
       composite(infer_window, kaiser)},
  };
  return lines;
}

}  // namespace depute::internal
