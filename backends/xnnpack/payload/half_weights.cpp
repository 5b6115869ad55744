#include "payload/half_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/small_float.h"
#include "node_types.h"

namespace depute::xnnpack {
namespace {

constexpr float largest_half = 65504;
constexpr std::size_t scanned_elements = std::size_t{1} << 20;

float element(std::span<const std::byte> bytes, std::size_t i) {
  float value = 0;
  std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
  return value;
}

// Infinities and NaNs exist in both types, so they always fit.
bool fits(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float size = std::abs(element(bytes, i));
    if (size > largest_half && std::isfinite(size)) return false;
  }
  return true;
}

bool fits(const Constant& weight) {
  const std::shared_ptr<const Storage> storage = weight.storage();
  if (!storage->is_lazy()) return fits(storage->bytes());
  const std::size_t grain = storage->grain();
  if (grain == 0) return fits(Bytes(storage).view());
  const std::size_t most = std::max<std::size_t>(scanned_elements * sizeof(float) / grain, 1) * grain;
  for (std::size_t offset = 0; offset < storage->size(); offset += most) {
    if (!fits(Bytes(storage, offset, std::min(most, storage->size() - offset)).view())) return false;
  }
  return true;
}

Constant halved(const Constant& weight) {
  return narrowed("f16", weight, ScalarType::F16, weight.sizes(), [](const Bytes& in) {
    const std::span<const std::byte> floats = in.view();
    std::vector<std::byte> halves(floats.size() / 2);
    for (std::size_t i = 0; i < floats.size() / sizeof(float); ++i) {
      const std::uint16_t half = float_to_half(element(floats, i));
      std::memcpy(&halves[i * sizeof half], &half, sizeof half);
    }
    return halves;
  });
}

bool is_product(const XnnGraph& graph, const XnnNode& node) {
  const bool has_weights = node.kind == NodeKind::FullyConnected || is_convolution(node.kind);
  return has_weights && !node.quantizes_input && graph.values[node.inputs[0]].dtype == ScalarType::F32;
}

// Returns the f16 replacement of a constant, or nullopt if the constant must stay f32.
std::optional<Constant> halved_value(const XnnGraph& graph, ValueId id) {
  const std::optional<Constant>& constant = graph.values[id].constant;
  if (!constant || constant->dtype() != ScalarType::F32 || !fits(*constant)) return std::nullopt;
  return halved(*constant);
}

bool multiplies_halves(const XnnNode& node, std::optional<wire::DataType> bias) {
  return multiplies(static_cast<wire::NodeUnion>(node.kind), wire::DataType::F32, wire::DataType::F16, bias,
                    wire::DataType::F32);
}

void halve(XnnGraph& graph, XnnNode& node) {
  const ValueId bias = node.inputs[2];
  const bool keeps_bias =
      multiplies_halves(node, bias == no_value ? std::nullopt : std::optional(wire::DataType::F32));
  if (!keeps_bias && !multiplies_halves(node, wire::DataType::F16)) return;
  const auto weight = halved_value(graph, node.inputs[1]);
  const auto half_bias = keeps_bias ? std::nullopt : halved_value(graph, bias);
  if (!weight || (!keeps_bias && !half_bias)) return;
  node.inputs[1] = graph.add_constant(*weight);
  if (half_bias) node.inputs[2] = graph.add_constant(*half_bias);
}

}  // namespace

void halve_weights(XnnGraph& graph) {
  for (XnnNode& node : graph.nodes) {
    if (is_product(graph, node)) halve(graph, node);
  }
  remove_unused(graph);
}

}  // namespace depute::xnnpack
