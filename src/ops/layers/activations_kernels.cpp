// Kernels of activation functions, element by element.
#include <cmath>
#include <numbers>
#include <type_traits>

#include "kernels/pointwise_call.h"

namespace depute::internal {
namespace {

// NaN stays NaN.
constexpr auto clip = [](auto x, auto low, auto high) { return x < low ? low : (x > high ? high : x); };

constexpr auto relu = []<typename T>(T x) { return x < 0 ? T{0} : x; };
constexpr auto relu6 = []<typename T>(T x) { return clip(x, T{0}, T{6}); };
constexpr auto leaky_relu = [](auto x, auto slope) { return x > 0 ? x : wrap_mul(x, slope); };
constexpr auto sigmoid = [](auto x) { return 1 / (1 + std::exp(-x)); };
constexpr auto silu = [](auto x) { return x / (1 + std::exp(-x)); };
constexpr auto hardsigmoid = []<typename T>(T x) { return clip(wrap_add(x, T{3}), T{0}, T{6}) / 6; };
constexpr auto hardswish = []<typename T>(T x) {
  return wrap_mul(x, clip(wrap_add(x, T{3}), T{0}, T{6})) / 6;
};
constexpr auto elu = [](auto x, auto alpha, auto scale, auto input_scale) {
  return x <= 0 ? std::expm1(x * input_scale) * (alpha * scale) : x * scale;
};
constexpr auto softplus = [](auto x, auto beta, auto threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
};
constexpr auto mish = [](auto x) { return x * std::tanh(softplus(x, 1, 20)); };
constexpr auto log_sigmoid = [](auto x) {
  const auto decay = std::log1p(std::exp(-std::abs(x)));
  return x < 0 ? x - decay : -decay;
};
constexpr auto hardshrink = []<typename T>(T x, auto lambd) {
  return x < -lambd || x > lambd || x != x ? x : T{0};
};
constexpr auto threshold = []<typename T>(T x, auto limit, auto value) {
  return x <= limit ? static_cast<T>(value) : x;
};

constexpr auto gelu_erf = []<typename T>(T x) {
  return x * (1 + std::erf(x / std::numbers::sqrt2_v<std::conditional_t<std::is_integral_v<T>, double, T>>)) /
         2;
};
constexpr auto gelu_tanh = [](auto x) {
  using Float = decltype(std::tanh(x));
  const Float scale = static_cast<Float>(std::sqrt(2 / std::numbers::pi));
  const Float cubic = static_cast<Float>(0.044715);
  Float y = static_cast<Float>(x);
  return y / 2 * (1 + std::tanh(scale * (y + cubic * y * y * y)));
};

Contents gelu(const KernelCall& call) {
  return call.text("approximate") == "tanh" ? unary<gelu_tanh>(call) : unary<gelu_erf>(call);
}

constexpr auto log_odds = [](auto x) { return std::log(x / (1 - x)); };

// Clips inputs to [eps, 1 - eps] if eps is given.
Contents logit(const KernelCall& call) {
  if (call.is_none("eps")) return unary<log_odds>(call);
  return unary<[](auto x, auto eps) { return log_odds(clip(x, eps, 1 - eps)); }, 1>(call);
}

}  // namespace

std::span<const KernelLine> activation_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.relu.default", unary<relu>},
      {"aten.relu6.default", unary<relu6>},
      {"aten.hardtanh.default", unary<clip, 2>},
      {"aten.leaky_relu.default", unary<leaky_relu, 1>},
      {"aten.elu.default", unary<elu, 3>},
      {"aten.gelu.default", gelu},
      {"aten.sigmoid.default", unary<sigmoid>},
      {"aten.tanh.default", unary<[](auto x) { return std::tanh(x); }>},
      {"aten.logit.default", logit},
      {"aten.silu.default", unary<silu>},
      {"aten.hardsigmoid.default", unary<hardsigmoid>},
      {"aten.hardswish.default", unary<hardswish>},
      {"aten.softplus.default", unary<softplus, 2>},
      {"aten.mish.default", unary<mish>},
      {"aten.log_sigmoid.default", unary<log_sigmoid>},
      {"aten.hardshrink.default", unary<hardshrink, 1>},
      {"aten.threshold.default", unary<threshold, 2>},
  };
  return lines;
}

}  // namespace depute::internal
