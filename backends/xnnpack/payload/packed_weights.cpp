#include "payload/packed_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "ir/small_float.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

std::size_t output_axis(NodeKind kind) {
  return kind == NodeKind::DepthwiseConv2d ? 3 : 0;
}

std::byte nibbles_of(std::byte low, std::byte high) {
  const int first = static_cast<std::int8_t>(low);
  const int second = static_cast<std::int8_t>(high);
  CHECK(first >= -8 && first <= 7 && second >= -8 && second <= 7)
      << "weights of 4 bits are " << first << " and " << second;
  return static_cast<std::byte>((first + 8) | (second + 8) << 4);
}

// Packs two integers per byte, the first in the low half, each plus 8. Produced bytes are packed in place.
Constant nibbles(const Constant& integers) {
  const Dims sizes = integers.sizes();
  return narrowed("int4", integers, ScalarType::I8, {sizes[0], sizes[1].value() / 2}, [](Bytes in) {
    const std::size_t count = in.view().size() / 2;
    std::vector<std::byte> packed = in.is_made() ? in.take() : std::vector<std::byte>(count);
    const std::byte* from = in.is_made() ? packed.data() : in.view().data();
    for (std::size_t i = 0; i < count; ++i) packed[i] = nibbles_of(from[2 * i], from[2 * i + 1]);
    packed.resize(count);
    return packed;
  });
}

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

Constant to_bf16(const Constant& scales) {
  return converted("bf16", {scales}, ScalarType::BF16, {numel(scales)}, [](std::span<Bytes> in) {
    std::vector<std::uint16_t> halves;
    for (float scale : floats_of(in[0].view())) halves.push_back(encode_small_float(ScalarType::BF16, scale));
    auto bytes = std::as_bytes(std::span(halves));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
}

// True if the runtime accepts the scales when it loads a payload. Folded factors may make them negative.
bool are_loadable(const Constant& scales) {
  return std::ranges::all_of(to_floats(scales),
                             [](float scale) { return scale > 0 && std::isnormal(scale); });
}

}  // namespace

std::optional<PackedWeight> packed_weight(const XnnGraph& graph, const XnnNode& product) {
  const std::optional<Constant>& given = graph.values[product.inputs[1]].constant;
  if (!given || !given->is_quantized() || !are_loadable(*given->scale)) return std::nullopt;
  PackedWeight packed;
  packed.is_transposed = (product.flags & transpose_weights) != 0;
  if (packed.is_transposed && given->group != 0) return std::nullopt;
  const Constant weight = packed.is_transposed ? permuted(*given, {1, 0}) : *given;
  packed.sizes = weight.sizes();
  packed.integers = integers_of(weight);
  if (weight.group != 0) {
    if (!weight.is_4bit || product.kind != NodeKind::FullyConnected) return std::nullopt;
    packed.integers = nibbles(packed.integers);
    packed.quantization = GroupScales{to_bf16(*weight.scale), weight.group};
    return packed;
  }
  const std::size_t axis = output_axis(product.kind);
  const bool has_one_scale = numel(*weight.scale) == 1;
  if (!has_one_scale && weight.order[axis] != weight.scale_dim) return std::nullopt;
  packed.scales = reshaped(repeated(*weight.scale, packed.sizes[axis].value()), {packed.sizes[axis]});
  const bool is_4bit = weight.is_4bit && product.kind == NodeKind::FullyConnected;
  if (is_4bit) packed.integers = nibbles(packed.integers);
  packed.quantization = ChannelScales{*packed.scales, axis, is_4bit};
  return packed;
}

void use_packed(XnnGraph& graph, XnnNode& product, const PackedWeight& weight) {
  const ValueId id = graph.add_constant(weight.integers);
  graph.values[id].sizes = weight.sizes;
  graph.values[id].quantization = weight.quantization;
  product.inputs[1] = id;
  if (weight.is_transposed) product.flags &= ~transpose_weights;
}

Constant in_units(const Constant& bias, const Constant& units) {
  return converted("in_units", {bias, units}, ScalarType::I32, bias.sizes(), [](std::span<Bytes> in) {
    const std::vector<float> numbers = floats_of(in[0].view()), unit = floats_of(in[1].view());
    std::vector<std::int32_t> counts;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      constexpr double most = std::numeric_limits<std::int32_t>::max();
      const double count = std::nearbyint(double{numbers[i]} / unit[i]);
      counts.push_back(static_cast<std::int32_t>(std::clamp(count, -most, most)));
    }
    auto bytes = std::as_bytes(std::span(counts));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  });
}

// XNNPACK's product of floats with integer weights multiplies its bias by the weights' scales, so the bias is
// added by a separate node.
void pack_weights(XnnGraph& graph) {
  std::vector<XnnNode> nodes;
  for (XnnNode& node : graph.nodes) {
    nodes.push_back(std::move(node));
    XnnNode& product = nodes.back();
    const bool is_dynamic = std::exchange(product.quantizes_input, false);
    const bool is_linear = product.kind == NodeKind::FullyConnected;
    if (!(is_linear || is_dynamic)) continue;
    if (!is_dynamic && graph.values[product.inputs[0]].dtype != ScalarType::F32) continue;
    const auto weight = packed_weight(graph, product);
    const auto* channels = weight ? std::get_if<ChannelScales>(&weight->quantization) : nullptr;
    const bool is_8bit = channels != nullptr && !channels->is_4bit;
    if (!weight || !(is_dynamic || is_8bit)) continue;
    use_packed(graph, product, *weight);
    product.quantizes_input = is_dynamic;
    if (is_dynamic || product.inputs[2] == no_value) continue;
    XnnNode add = product;
    add.kind = NodeKind::Add;
    const ValueId bias = std::exchange(product.inputs[2], no_value);
    product.output = graph.add_value_like(add.output, Dims(graph.values[add.output].sizes));
    product.output_min = -XnnNode::infinity;
    product.output_max = XnnNode::infinity;
    add.inputs = {product.output, bias};
    nodes.push_back(std::move(add));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace depute::xnnpack
