// Quantised integers from floats and back: scale * (q - zero_point), for a whole tensor or for each channel.
#include <cmath>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Quantisation {
  std::vector<double> scales;
  std::vector<double> zero_points;
  std::size_t inner = 1;  // elements behind the channels' dimension

  std::size_t channel(std::size_t i) const { return i / inner % scales.size(); }
};

Result<std::vector<double>> numbers_of(const TensorData& data) {
  TRY_STATUS(check_arithmetic(data.type.dtype));
  Elements<double> numbers(data);
  return std::vector<double>(numbers.begin(), numbers.end());
}

Result<Quantisation> per_tensor(const KernelCall& call) {
  Quantisation q;
  TRY(q.scales, numbers_of(call.operand("scale")));
  TRY(q.zero_points, numbers_of(call.operand("zero_point")));
  if (q.scales.size() != 1 || q.zero_points.size() != 1)
    return bad_arguments("more than one scale or zero point");
  return q;
}

Result<Quantisation> per_channel(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("input"));
  TRY(std::size_t axis, checked_dim(call.integer("axis"), sizes.size()));
  if (sizes.empty()) return bad_arguments("a tensor without channels");
  auto channels = static_cast<std::size_t>(sizes[axis]);
  Quantisation q;
  TRY(q.scales, numbers_of(call.tensor("scales")));
  q.zero_points.assign(channels, 0);
  if (!call.is_none("zero_points")) {
    TRY(q.zero_points, numbers_of(call.tensor("zero_points")));
  }
  if (q.scales.size() != channels || q.zero_points.size() != channels) {
    return bad_arguments("not one scale and zero point for each channel");
  }
  for (std::size_t dim = axis + 1; dim < sizes.size(); ++dim) q.inner *= static_cast<std::size_t>(sizes[dim]);
  return q;
}

using ReadQuantisation = Result<Quantisation> (*)(const KernelCall& call);

// Rounded to nearest even, and clipped to what the call allows. The inverse scale is an f32, as torch has it.
template <ReadQuantisation read>
Contents quantize(const KernelCall& call) {
  const TensorData& input = call.tensor("input");
  TRY_STATUS(check_arithmetic(input.type.dtype));
  TRY(Quantisation q, read(call));
  auto low = static_cast<float>(call.integer("quant_min"));
  auto high = static_cast<float>(call.integer("quant_max"));
  ScalarType dtype = call.result_type();
  TRY_STATUS(check_arithmetic(dtype));
  return one(call.dense(dtype, sizes_of(input), [input, q, low, high, dtype] {
    Elements<float> x(input);
    std::vector<float> result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t channel = q.channel(i);
      float scaled = std::nearbyint(x[i] * static_cast<float>(1 / q.scales[channel]));
      scaled += static_cast<float>(q.zero_points[channel]);
      result.push_back(scaled < low ? low : scaled > high ? high : scaled);
    }
    return pack<float>(dtype, result);
  }));
}

template <ReadQuantisation read>
Contents dequantize(const KernelCall& call) {
  const TensorData& input = call.tensor("input");
  TRY_STATUS(check_arithmetic(input.type.dtype));
  TRY(Quantisation q, read(call));
  ScalarType dtype = call.result_type();
  TRY_STATUS(check_arithmetic(dtype));
  return one(call.dense(dtype, sizes_of(input), [input, q, dtype] {
    Elements<double> x(input);
    std::vector<double> result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t channel = q.channel(i);
      result.push_back((x[i] - q.zero_points[channel]) * q.scales[channel]);
    }
    return pack<double>(dtype, result);
  }));
}

}  // namespace

std::span<const KernelLine> quantised_kernels() {
  static constexpr KernelLine lines[] = {
      {"quantized_decomposed.quantize_per_tensor.default", quantize<per_tensor>},
      {"quantized_decomposed.quantize_per_tensor.tensor", quantize<per_tensor>},
      {"quantized_decomposed.quantize_per_channel.default", quantize<per_channel>},
      {"quantized_decomposed.dequantize_per_tensor.default", dequantize<per_tensor>},
      {"quantized_decomposed.dequantize_per_tensor.tensor", dequantize<per_tensor>},
      {"quantized_decomposed.dequantize_per_channel.default", dequantize<per_channel>},
  };
  return lines;
}

}  // namespace depute::internal
