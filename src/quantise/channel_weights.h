// Weights as integers from -127 to 127 with a scale for each output channel, as PT2E has them.
//
//   %c = aten.conv2d.default(%x, %w, %b)   ->   %w' = quantized_decomposed.dequantize_per_channel.default(
//                                                   %w.int8.0, %w.int8.0.scales, %w.int8.0.zeros, 0, ..)
//                                               %c = aten.conv2d.default(%x, %w', %b)
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "depute/quantise.h"
#include "quantise/constants.h"
#include "quantise/static_ops.h"

namespace depute {

struct ChannelWeight {
  Node* layer;
  Value* value;      // its weight: a constant of f32
  std::size_t axis;  // of the channels that have a scale each
};

// Output channels lie in this dimension of a layer's weight.
inline std::size_t channel_axis(StaticRole role) {
  return role == StaticRole::TransposedConvolution ? 1 : 0;
}

// Why the weight of a layer (has_weight) stays as it is; nothing when it can be quantised. Channels of
// grouped transposed convolutions lie in two dimensions, and have no such form.
std::optional<std::string_view> reason_against_channels(const Program& program, const Method& method,
                                                        const Node& layer, StaticRole role);

// Weights are measured `jobs` at a time, and their integers made when they are written. Tells of each layer
// in `result`.
Status write_channel_weights(Program& program, Method& method, NewConstants& constants,
                             std::span<const ChannelWeight> weights, std::string_view scheme, int jobs,
                             QuantiseResult& result);

}  // namespace depute
