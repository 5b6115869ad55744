// Quantizes weights to integers from -127 to 127 with one scale per output channel, or one for all, like PT2E.
//
//   %c = aten.conv2d.default(%x, %w, %b)
//     ->
//   %wd = quantized_decomposed.dequantize_per_channel.default(
//       %"w.int8.0", %"w.int8.0.scales", %"w.int8.0.zeros", 0, ..)
//   %c = aten.conv2d.default(%x, %wd, %b)
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "depute/compiler/quantize.h"
#include "quantize/constants.h"
#include "quantize/static_ops.h"

namespace depute {

struct ChannelWeight {
  Node* layer;
  Value* value;                     // its f32 weight, a constant
  std::optional<std::size_t> axis;  // dimension of the channels; nullopt: one scale for the whole weight
};

// The dimension of output channels in a layer's weight.
inline std::size_t channel_axis(StaticRole role) {
  return role == StaticRole::TransposedConvolution ? 1 : 0;
}

// Returns why the weight of a layer (has_weight) is not quantized, or nullopt if it can be. Grouped
// transposed convolutions cannot: their channels lie in two dimensions.
std::optional<std::string_view> reason_against_channels(const Program& program, const Method& method,
                                                        const Node& layer, StaticRole role);

// Measures weights on `jobs` threads; their integers are computed when written. Adds layers to `result`.
Status write_channel_weights(Program& program, Method& method, NewConstants& constants,
                             std::span<const ChannelWeight> weights, std::string_view scheme, int jobs,
                             QuantizeResult& result);

}  // namespace depute
