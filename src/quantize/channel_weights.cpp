#include "quantize/channel_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "depute/program/builder.h"
#include "quantize/histogram_observer.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

// -128 is not used, so that weights are symmetric.
constexpr int max_weight = 127;

// The channels of a weight: of(i) is the channel of element i, and each channel has a scale.
struct Channels {
  std::size_t inner = 1;  // number of elements per index of the channel dimension
  std::vector<float> scales = {};

  std::size_t of(std::size_t i) const { return i / inner % scales.size(); }
};

using Axis = std::optional<std::size_t>;

Channels channels_of(const Dims& sizes, Axis axis, std::span<const float> weights) {
  Channels channels;
  for (std::size_t dim = axis ? *axis + 1 : sizes.size(); dim < sizes.size(); ++dim)
    channels.inner *= static_cast<std::size_t>(sizes[dim].value());
  channels.scales.resize(axis ? static_cast<std::size_t>(sizes[*axis].value()) : 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    float& largest = channels.scales[channels.of(i)];
    largest = std::max(largest, std::abs(weights[i]));
  }
  for (float& scale : channels.scales) scale = std::max(scale / max_weight, min_scale);
  return channels;
}

// Multiplies by the inverse of the scale, like torch.
std::byte weight_integer(float x, float scale) {
  const float nearest = std::nearbyint(x * (1 / scale));
  return static_cast<std::byte>(static_cast<int>(std::clamp<float>(nearest, -max_weight, max_weight)));
}

std::vector<std::byte> weight_integers(const TensorData& data, Axis axis) {
  const std::vector<float> weights = floats_of(data);
  const Channels channels = channels_of(data.type.sizes, axis, weights);
  std::vector<std::byte> integers(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    integers[i] = weight_integer(weights[i], channels.scales[channels.of(i)]);
  return integers;
}

double sqnr_of(std::span<const float> weights, const Channels& channels) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float scale = channels.scales[channels.of(i)];
    const auto integer = static_cast<float>(static_cast<std::int8_t>(weight_integer(weights[i], scale)));
    const double error = double{weights[i]} - double{integer * scale};
    signal += double{weights[i]} * double{weights[i]};
    noise += error * error;
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

struct Measured {
  std::vector<float> scales;
  std::size_t count = 0;  // number of elements of the weight
  double sqnr = 0;
};

Measured measured(const TensorData& data, Axis axis) {
  const std::vector<float> floats = floats_of(data);
  Channels channels = channels_of(data.type.sizes, axis, floats);
  const double sqnr = sqnr_of(floats, channels);
  return {std::move(channels.scales), floats.size(), sqnr};
}

// The weight in floats again: by one scale, or by a constant of one for each channel.
Value* dequantized(Builder& b, Method& method, NewConstants& constants, const std::string& name,
                   Value* integers, const ChannelWeight& weight, const TensorData& data,
                   const Measured& found) {
  if (!weight.axis)
    return b.call("quantized_decomposed.dequantize_per_tensor.default",
                  {integers, double{found.scales[0]}, 0, -max_weight, max_weight, ScalarType::I8});
  const Dims sizes = {data.type.sizes[*weight.axis]};
  const std::vector<std::int64_t> zeros(found.scales.size());
  Value* own_scales =
      constants.add(method, name + ".scales", make_data<float>(ScalarType::F32, sizes, found.scales));
  Value* own_zeros =
      constants.add(method, name + ".zeros", make_data<std::int64_t>(ScalarType::I64, sizes, zeros));
  return b.call("quantized_decomposed.dequantize_per_channel.default",
                {integers, own_scales, own_zeros, static_cast<std::int64_t>(*weight.axis), -max_weight,
                 max_weight, ScalarType::I8});
}

Status write(Method& method, NewConstants& constants, const ChannelWeight& weight, const TensorData& data,
             const Measured& found) {
  const std::string suffix = weight.axis ? fmt::format(".{}", *weight.axis) : std::string();
  const std::string name = fmt::format("{}.int8{}", input_spec(method, *weight.value)->target.str(), suffix);
  const TensorData integers{.type = make_tensor(ScalarType::I8, data.type.sizes),
                            .storage = Storage::lazy(found.count, [data, axis = weight.axis] {
                              return weight_integers(data, axis);
                            })};
  Value* own_integers = constants.add(method, name, integers);
  Builder b(*method.graph, weight.layer);
  b.inherit(*weight.layer);
  Value* back = dequantized(b, method, constants, name, own_integers, weight, data, found);
  TRY_STATUS(b.status());
  set_argument(*weight.layer, "weight", Argument::of(back));
  return {};
}

}  // namespace

std::optional<std::string_view> reason_against_channels(const Program& program, const Method& method,
                                                        const Node& layer, StaticRole role) {
  const OpCall call(layer);
  if (role == StaticRole::TransposedConvolution && call.integer("groups") != 1)
    return "a transposed convolution with groups is not supported";
  const Value* weight = call.value("weight");
  const TensorData* data = weight == nullptr ? nullptr : fixed_floats(program, method, *weight);
  if (data == nullptr) return "its weight must be an f32 constant";
  if (data->type.rank() < 2 || data->type.numel() == 0) return "its weight must have rank 2";
  if (!std::ranges::all_of(floats_of(*data), [](float x) { return std::isfinite(x); }))
    return "its weight has infinities or NaNs";
  return std::nullopt;
}

Status write_channel_weights(Program& program, Method& method, NewConstants& constants,
                             std::span<const ChannelWeight> weights, std::string_view scheme, int jobs,
                             QuantizeResult& result) {
  std::vector<Measured> found(weights.size());
  parallel_for(weights.size(), jobs, [&](std::size_t i) {
    found[i] = measured(*constant_data(program, method, *weights[i].value), weights[i].axis);
  });
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Node& layer = *weights[i].layer;
    const Name key = input_spec(method, *weights[i].value)->target;
    const TensorData data = *constant_data(program, method, *weights[i].value);
    TRY_STATUS(write(method, constants, weights[i], data, found[i]));
    result.layers.push_back(
        {.method = method.name,
         .node = layer.display_symbol(),
         .weight = key,
         .module = layer.source == nullptr ? std::string() : std::string(layer.source->module_path.str()),
         .scheme = std::string(scheme),
         .float_bytes = found[i].count * sizeof(float),
         .integer_bytes = found[i].count + found[i].scales.size() * sizeof(float),
         .sqnr = found[i].sqnr});
  }
  return {};
}

}  // namespace depute
