#include "integer_product.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace depute::tosa {
namespace {

std::int32_t to_steps(double number, double scale) {
  constexpr double least = std::numeric_limits<std::int32_t>::min();
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  const double steps = std::nearbyint(number / scale);
  return static_cast<std::int32_t>(std::isnan(steps) ? 0 : std::clamp(steps, least, most));
}

// The bias in multiples of the scales of the sums, computed when it is written.
Constant bias_in_steps(const Constant& bias_floats, const std::vector<double>& scales) {
  return weights::converted(fmt::format("bias {}", fmt::join(scales, ",")), {bias_floats}, ScalarType::I32,
                            bias_floats.sizes(), [scales](std::span<weights::Bytes> inputs) {
                              const std::span<const std::byte> bytes = inputs[0].view();
                              std::vector<std::byte> made(bytes.size());
                              for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
                                float number = 0;
                                std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
                                const std::int32_t steps =
                                    to_steps(number, scales[scales.size() == 1 ? 0 : i]);
                                std::memcpy(made.data() + i * sizeof steps, &steps, sizeof steps);
                              }
                              return made;
                            });
}

}  // namespace

Check find_integer_product(Emitter& emit, const OpCall& call, std::string_view a, std::string_view b,
                           std::string_view bias, const Channels& channels, IntegerProduct& product) {
  const auto result = emit.wanted(*call.node()->result());
  if (!result) return refuse_integers("a result that is not only quantized, with one scale");
  const auto x = emit.integers(*call.value(a));
  const auto weight = emit.weight(*call.value(b));
  if (!x || !weight) return refuse_integers("an operand without integers");
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
                    .result_zero = result->zero_point};
  for (const double sum : sums) product.scales.factors.push_back(sum / result->scale);
  product.result = *result;
  product.bias = emit.zero_point(DType::I32);
  if (bias.empty() || call[bias].is_none()) return {};
  const auto bias_floats = emit.constant_floats(*call.value(bias));
  if (!bias_floats) return refuse_integers("a bias that is no constant");
  product.bias = emit.constant(bias_in_steps(*bias_floats, sums));
  return {};
}

}  // namespace depute::tosa
