// Kernels of quantization: scale * (q - zero_point) per tensor, per channel or per row (PyTorch says per
// token); dynamic scales and zero points; and quantized embedding tables.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Quantization {
  std::vector<double> scales;
  std::vector<double> zero_points;
  std::size_t inner = 1;  // elements per channel index, in the dimensions after it

  std::size_t channel(std::size_t i) const { return i / inner % scales.size(); }
};

Result<std::vector<double>> numbers_of(const TensorData& data) {
  TRY_STATUS(check_arithmetic(data.type.dtype));
  Elements<double> numbers(data);
  return std::vector<double>(numbers.begin(), numbers.end());
}

Result<Quantization> per_tensor(const KernelCall& call) {
  Quantization q;
  TRY(q.scales, numbers_of(call.operand("scale")));
  TRY(q.zero_points, numbers_of(call.operand("zero_point")));
  if (q.scales.size() != 1 || q.zero_points.size() != 1)
    return bad_arguments("expected a single scale and zero point");
  return q;
}

Result<Quantization> per_channel(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("input"));
  TRY(std::size_t axis, checked_dim(call.integer("axis"), sizes.size()));
  if (sizes.empty()) return bad_arguments("the tensor has no channel dimension");
  auto channels = static_cast<std::size_t>(sizes[axis]);
  Quantization q;
  TRY(q.scales, numbers_of(call.tensor("scales")));
  q.zero_points.assign(channels, 0);
  if (!call.is_none("zero_points")) {
    TRY(q.zero_points, numbers_of(call.tensor("zero_points")));
  }
  if (q.scales.size() != channels || q.zero_points.size() != channels) {
    return bad_arguments("expected one scale and zero point per channel");
  }
  for (std::size_t dim = axis + 1; dim < sizes.size(); ++dim) q.inner *= static_cast<std::size_t>(sizes[dim]);
  return q;
}

// Reads one scale and zero point per row: per position in all dimensions but the last.
Result<Quantization> per_row(const KernelCall& call) {
  const Shape sizes = sizes_of(call.tensor("input"));
  if (sizes.empty()) return bad_arguments("expected a tensor of rank 1 or more");
  Quantization q;
  q.inner = static_cast<std::size_t>(std::max<std::int64_t>(sizes.back(), 1));
  TRY(q.scales, numbers_of(call.tensor("scales")));
  TRY(q.zero_points, numbers_of(call.tensor("zero_points")));
  if (q.scales.size() != q.zero_points.size() || q.scales.size() * q.inner != count_of(call.tensor("input")))
    return bad_arguments("expected one scale and zero point per row");
  return q;
}

using ReadQuantization = Result<Quantization> (*)(const KernelCall& call);

// Rounds to nearest even and clips to the call's range. The inverse scale is an f32, like in torch.
template <ReadQuantization read>
Contents quantize(const KernelCall& call) {
  const TensorData& input = call.tensor("input");
  TRY_STATUS(check_arithmetic(input.type.dtype));
  TRY(Quantization q, read(call));
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

// Rounds after adding the zero point, in f64, the type of the scales.
Contents quantize_rows(const KernelCall& call) {
  const TensorData& input = call.tensor("input");
  TRY_STATUS(check_arithmetic(input.type.dtype));
  TRY(Quantization q, per_row(call));
  const auto low = static_cast<double>(call.integer("quant_min"));
  const auto high = static_cast<double>(call.integer("quant_max"));
  const ScalarType dtype = call.result_type();
  TRY_STATUS(check_arithmetic(dtype));
  return one(call.dense(dtype, sizes_of(input), [input, q, low, high, dtype] {
    Elements<double> x(input);
    std::vector<double> result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t row = q.channel(i);
      const double steps = std::nearbyint(x[i] * (1 / q.scales[row]) + q.zero_points[row]);
      result.push_back(steps < low ? low : steps > high ? high : steps);
    }
    return pack<double>(dtype, result);
  }));
}

template <ReadQuantization read>
Contents dequantize(const KernelCall& call) {
  const TensorData& input = call.tensor("input");
  TRY_STATUS(check_arithmetic(input.type.dtype));
  TRY(Quantization q, read(call));
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

// --- dynamic scales and zero points

struct QuantParams {
  float scale, zero_point;
};

// Computes the scale in f32 like torch, for the values from `low` to `high`, and 0.
QuantParams params_of_all(float low, float high, const KernelCall& call) {
  const auto least = static_cast<float>(call.integer("quant_min"));
  const auto most = static_cast<float>(call.integer("quant_max"));
  const float scale = std::max((high - low) / (most - least), static_cast<float>(call.number("eps")));
  return {scale, std::min(std::max(least - std::nearbyint(low / scale), least), most)};
}

// Computes the zero point from the end of the range where it is more exact.
QuantParams params_of_row(float low, float high, const KernelCall&) {
  constexpr float least = -128, most = 127;
  const float scale = std::max((high - low) / (most - least), std::numeric_limits<float>::epsilon());
  const float below = low / scale, above = high / scale;
  const float zero_point = (least + below) + (most + above) > 0 ? least - below : most - above;
  return {scale, std::nearbyint(std::clamp(zero_point, least, most))};
}

// Returns scales as f64 and zero points as i64, one for each `length` elements.
Contents chosen(const KernelCall& call, std::size_t length, const Shape& sizes,
                QuantParams (*params_of)(float low, float high, const KernelCall& call)) {
  const TensorData& input = call.tensor("input");
  TRY_STATUS(check_arithmetic(input.type.dtype));
  Elements<float> x(input);
  if (length == 0) return bad_arguments("a scale cannot be chosen for an empty tensor");
  std::vector<double> scales, zero_points;
  for (std::size_t start = 0; start < x.size(); start += length) {
    float low = 0, high = 0;
    for (const float value : x.span().subspan(start, length)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const QuantParams params = params_of(low, high, call);
    scales.push_back(params.scale);
    zero_points.push_back(params.zero_point);
  }
  TRY(RuntimeValue scale,
      call.dense(ScalarType::F64, sizes, [scales] { return pack<double>(ScalarType::F64, scales); }));
  TRY(RuntimeValue zero, call.dense(ScalarType::I64, sizes,
                                    [zero_points] { return pack<double>(ScalarType::I64, zero_points); }));
  return std::vector<RuntimeValue>{std::move(scale), std::move(zero)};
}

Contents choose_for_all(const KernelCall& call) {
  return chosen(call, count_of(call.tensor("input")), {1}, params_of_all);
}

Contents choose_for_rows(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("input"));
  if (sizes.empty()) return bad_arguments("expected a tensor of rank 1 or more");
  const auto length = static_cast<std::size_t>(sizes.back());
  sizes.back() = 1;
  return chosen(call, length, sizes, params_of_row);
}

// --- rows of quantized tables

// Returns element `place` of a row with `per_byte` values per byte. Of two values the first is in the high
// bits; of four it is in the low bits.
template <int per_byte>
double unpacked(std::span<const double> bytes, std::size_t place) {
  const double byte = bytes[place / per_byte];
  if constexpr (per_byte == 1) return byte;
  const auto bits = static_cast<unsigned>(byte);
  const auto part = static_cast<unsigned>(place % per_byte);
  if constexpr (per_byte == 2) return static_cast<double>(bits >> (4 - 4 * part) & 15) - 8;
  return static_cast<double>(bits >> 2 * part & 3) - 2;
}

template <int per_byte>
Contents look_up(const KernelCall& call) {
  const TensorData& weight = call.tensor("weight");
  const TensorData& indices = call.tensor("indices");
  if (weight.type.rank() != 2) return bad_arguments("the weight must have rank 2");
  const ScalarType kind = weight.type.dtype;
  if (kind != ScalarType::U8 && (per_byte > 1 || kind != ScalarType::I8))
    return bad_arguments("the weight must have 8-bit integers");
  TRY_STATUS(check_arithmetic(indices.type.dtype));
  TRY_STATUS(check_arithmetic(call.result_type()));
  const auto rows = static_cast<std::size_t>(sizes_of(weight)[0]);
  const auto bytes = static_cast<std::size_t>(sizes_of(weight)[1]);
  const std::size_t columns = bytes * per_byte;
  TRY(const std::vector<double> scales, numbers_of(call.tensor("weight_scales")));
  std::vector<double> zero_points(scales.size(), 0);
  if (!call.is_none("weight_zero_points")) {
    TRY(zero_points, numbers_of(call.tensor("weight_zero_points")));
  }
  const std::size_t groups = rows == 0 ? 0 : scales.size() / rows;
  if (groups == 0 || scales.size() != rows * groups || columns % groups != 0 ||
      zero_points.size() != scales.size())
    return bad_arguments("expected one scale and zero point per group of each row");
  const Elements<std::int64_t> elements(indices);
  const std::vector<std::int64_t> wanted(elements.begin(), elements.end());
  const auto is_outside = [&](std::int64_t row) { return row < 0 || row >= static_cast<std::int64_t>(rows); };
  if (std::ranges::any_of(wanted, is_outside))
    return bad_arguments("an index is out of range for the weight's rows");
  Shape sizes = sizes_of(indices);
  sizes.push_back(static_cast<std::int64_t>(columns));
  const ScalarType dtype = call.result_type();
  return one(call.dense(dtype, sizes, [weight, wanted, scales, zero_points, groups, bytes, columns, dtype] {
    Elements<double> table(weight);
    std::vector<double> result;
    for (const std::int64_t row : wanted) {
      const auto at = static_cast<std::size_t>(row);
      const std::span<const double> own = table.span().subspan(at * bytes, bytes);
      for (std::size_t i = 0; i < columns; ++i) {
        const std::size_t group = at * groups + i / (columns / groups);
        result.push_back((unpacked<per_byte>(own, i) - zero_points[group]) * scales[group]);
      }
    }
    return pack<double>(dtype, result);
  }));
}

}  // namespace

std::span<const KernelLine> quantized_kernels() {
  static constexpr KernelLine lines[] = {
      {"quantized_decomposed.quantize_per_tensor.default", quantize<per_tensor>},
      {"quantized_decomposed.quantize_per_tensor.tensor", quantize<per_tensor>},
      {"quantized_decomposed.quantize_per_channel.default", quantize<per_channel>},
      {"quantized_decomposed.dequantize_per_tensor.default", dequantize<per_tensor>},
      {"quantized_decomposed.dequantize_per_tensor.tensor", dequantize<per_tensor>},
      {"quantized_decomposed.dequantize_per_channel.default", dequantize<per_channel>},
      {"quantized_decomposed.quantize_per_token.default", quantize_rows},
      {"quantized_decomposed.dequantize_per_token.default", dequantize<per_row>},
      {"quantized_decomposed.choose_qparams.tensor", choose_for_all},
      {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", choose_for_rows},
      {"quantized_decomposed.embedding_byte.default", look_up<1>},
      {"quantized_decomposed.embedding_byte.dtype", look_up<1>},
      {"quantized_decomposed.embedding_4bit.default", look_up<2>},
      {"quantized_decomposed.embedding_4bit.dtype", look_up<2>},
      {"quantized_decomposed.embedding_2bit.default", look_up<4>},
      {"quantized_decomposed.embedding_2bit.dtype", look_up<4>},
  };
  return lines;
}

}  // namespace depute::internal
