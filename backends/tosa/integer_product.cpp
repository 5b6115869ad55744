#include "integer_product.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace depute::tosa {
namespace {

std::int64_t to_steps(double number, double scale, std::size_t width) {
  const double limit = std::ldexp(1, static_cast<int>(8 * width) - 1);
  const double steps = std::nearbyint(number / scale);
  return static_cast<std::int64_t>(std::isnan(steps) ? 0 : std::clamp(steps, -limit, limit - 1));
}

// The bias in multiples of the scales of the sums, as integers of `width` bytes, computed when it is written.
Constant bias_in_steps(const Constant& bias_floats, const std::vector<double>& scales, std::size_t width) {
  const bool is_i32 = width == sizeof(std::int32_t);
  Dims sizes = bias_floats.sizes();
  if (!is_i32) sizes.push_back(static_cast<std::int64_t>(width));
  return weights::converted(
      fmt::format("bias{} {}", width, fmt::join(scales, ",")), {bias_floats},
      is_i32 ? ScalarType::I32 : ScalarType::I8, sizes, [scales, width](std::span<weights::Bytes> inputs) {
        const std::span<const std::byte> bytes = inputs[0].view();
        std::vector<std::byte> made(bytes.size() / sizeof(float) * width);
        for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
          float number = 0;
          std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
          const std::int64_t steps = to_steps(number, scales[scales.size() == 1 ? 0 : i], width);
          std::memcpy(made.data() + i * width, &steps, width);  // the low bytes
        }
        return made;
      });
}

}  // namespace

Check find_integer_product(Emitter& emit, const OpCall& call, std::string_view a, std::string_view b,
                           std::string_view bias, const Channels& channels, IntegerProduct& product) {
  const auto result = emit.wanted(*call.node()->result());
  if (!result) return refuse_integers(not_quantized);
  const auto x = emit.integers(*call.value(a));
  const auto weight = emit.weight(*call.value(b));
  if (!x || !weight) return refuse_integers(no_integers);
  const bool is_each = weight->scales.size() > 1;
  if (is_each &&
      (weight->axis != channels.dim || weight->scales.size() != static_cast<std::size_t>(channels.channels)))
    return refuse_integers("scales along another dimension than the result's channels");
  std::vector<double> sums;  // scales of the sums
  for (const double scale : weight->scales) sums.push_back(x->quantization.scale * scale);
  product.a = x->tensor;
  product.b = weight->tensor;
  product.scales = {.a_zero = x->quantization.zero_point,
                    .b_zero = weight->zero_point,
                    .factors = {},
                    .result = *result,
                    .is_4bit = weight->is_4bit};
  for (const double sum : sums) product.scales.factors.push_back(sum / result->scale);
  product.result = *result;
  const bool is_wide = x->quantization.bits == 16;
  product.bias = is_wide ? emit.zero_i48() : emit.zero_point(DType::I32);
  if (bias.empty() || call[bias].is_none()) return {};
  const auto bias_floats = emit.constant_floats(*call.value(bias));
  if (!bias_floats) return refuse_integers("a bias that is no constant");
  constexpr std::size_t i32_width = 4;
  constexpr std::size_t i48_width = 6;
  product.bias = is_wide ? emit.constant_i48(bias_in_steps(*bias_floats, sums, i48_width))
                         : emit.constant(bias_in_steps(*bias_floats, sums, i32_width));
  return {};
}

}  // namespace depute::tosa
