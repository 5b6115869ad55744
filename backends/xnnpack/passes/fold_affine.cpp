#include <algorithm>

#include "passes/simplify.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

// y = x * scale + shift, with one element or one per channel; scale or shift may be absent.
struct Affine {
  std::optional<Constant> scale;
  std::optional<Constant> shift;
};

class AffineFolder {
 public:
  explicit AffineFolder(XnnGraph& graph) : graph_(graph), uses_(find_uses(graph)) {}
  void run();

 private:
  // The channel dimension of a product's result, and its size.
  struct Channels {
    std::size_t dim;
    std::int64_t count;
  };
  XnnNode* foldable_producer(ValueId value);
  bool fold_number(XnnNode& node);
  XnnNode* foldable_source(ValueId value);
  bool takes_factor(const XnnNode& producer, const std::optional<Constant>& factor) const;
  Channels channels_of(const XnnNode& producer) const;
  std::optional<Affine> affine_of(const XnnNode& node, std::size_t data_input,
                                  const Channels& channels) const;
  std::optional<Constant> per_channel(ValueId value, const Dims& result, const Channels& channels) const;
  void fold(XnnNode& producer, const Affine& affine, const Channels& channels);

  XnnGraph& graph_;
  GraphUses uses_;
};

bool is_product(NodeKind kind) {
  return is_convolution(kind) || kind == NodeKind::FullyConnected;
}

// Returns the producer if it is a product with constant f32 weights whose result has only one reader.
XnnNode* AffineFolder::foldable_producer(ValueId value) {
  const std::uint32_t index = uses_.producer[value];
  if (index == no_value || uses_.count[value] != 1) return nullptr;
  XnnNode& producer = graph_.nodes[index];
  if (!is_product(producer.kind) || producer.is_clamped()) return nullptr;
  const std::optional<Constant>& weight = graph_.values[producer.inputs[1]].constant;
  return weight && weight->dtype() == ScalarType::F32 ? &producer : nullptr;
}

// Scales of quantized weights must be positive; any other factor would make the weights f32.
bool AffineFolder::takes_factor(const XnnNode& producer, const std::optional<Constant>& factor) const {
  if (!factor || !graph_.values[producer.inputs[1]].constant->is_quantized()) return true;
  return std::ranges::all_of(to_floats(*factor), [](float number) { return number > 0; });
}

AffineFolder::Channels AffineFolder::channels_of(const XnnNode& producer) const {
  const Dims& result = graph_.values[producer.output].sizes;
  const std::size_t dim = is_convolution(producer.kind) ? 1 : result.size() - 1;
  return {dim, result[dim].value()};
}

// Returns a constant that broadcasts along the channels only, with one element or one per channel.
std::optional<Constant> AffineFolder::per_channel(ValueId value, const Dims& result,
                                                  const Channels& channels) const {
  const std::optional<Constant>& constant = graph_.values[value].constant;
  if (!constant || constant->dtype() != ScalarType::F32) return std::nullopt;
  const std::int64_t count = numel(*constant);
  if (count == 1) return reshaped(*constant, {1});
  const Dims sizes = constant->sizes();
  const std::size_t missing = result.size() - sizes.size();
  if (count != channels.count || channels.dim < missing || !(sizes[channels.dim - missing] == count)) {
    return std::nullopt;
  }
  return reshaped(*constant, {count});
}

std::optional<Affine> AffineFolder::affine_of(const XnnNode& node, std::size_t data_input,
                                              const Channels& channels) const {
  if (node.kind == NodeKind::ChannelAffine) {
    const bool is_same_dim = data_input == 0 && channels.dim == 1;
    if (!is_same_dim) return std::nullopt;
    return Affine{graph_.values[node.inputs[1]].constant, graph_.values[node.inputs[2]].constant};
  }
  const Dims& result = graph_.values[node.output].sizes;
  if (!(graph_.values[node.inputs[data_input]].sizes == result)) return std::nullopt;
  auto other = per_channel(node.inputs[1 - data_input], result, channels);
  if (!other) return std::nullopt;
  if (node.kind == NodeKind::Multiply) return Affine{std::move(other), std::nullopt};
  return Affine{std::nullopt, std::move(other)};
}

Constant sum(const Constant& a, const Constant& b) {
  return computed("sum", {a, b}, a.sizes(), [](std::span<const std::vector<float>> in) {
    std::vector<float> result = in[0];
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += in[1][i];
    return result;
  });
}

// Returns the output channel dimension of the weights.
std::size_t weight_axis(const XnnNode& producer) {
  if (producer.kind == NodeKind::DepthwiseConv2d) return 3;
  return producer.kind == NodeKind::FullyConnected && (producer.flags & transpose_weights) != 0 ? 1 : 0;
}

void AffineFolder::fold(XnnNode& producer, const Affine& affine, const Channels& channels) {
  std::optional<Constant> bias;
  if (producer.inputs[2] != no_value) bias = graph_.values[producer.inputs[2]].constant;
  if (affine.scale) {
    const Constant& weight = *graph_.values[producer.inputs[1]].constant;
    producer.inputs[1] = graph_.add_constant(scaled(weight, *affine.scale, weight_axis(producer)));
    if (bias) bias = scaled(*bias, *affine.scale, 0);
  }
  if (affine.shift) {
    const Constant shift = repeated(*affine.shift, channels.count);
    bias = bias ? sum(*bias, shift) : shift;
  }
  if (bias) producer.inputs[2] = graph_.add_constant(*bias);
}

// Returns the product that computes `value`, through nodes that only move elements and have no other readers.
XnnNode* AffineFolder::foldable_source(ValueId value) {
  XnnNode* producer = foldable_producer(value);
  while (producer == nullptr) {
    const std::uint32_t index = uses_.producer[value];
    if (index == no_value || uses_.count[value] != 1) return nullptr;
    const XnnNode& mover = graph_.nodes[index];
    if (mover.kind != NodeKind::Reshape && mover.kind != NodeKind::Transpose) return nullptr;
    value = mover.inputs[0];
    producer = foldable_producer(value);
  }
  return producer;
}

// Attention scales its queries after splitting them into heads: FullyConnected, Reshape, Transpose, Multiply.
// Returns true if the node was folded.
bool AffineFolder::fold_number(XnnNode& node) {
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId data = node.inputs[i];
    const std::optional<Constant>& factor = graph_.values[node.inputs[1 - i]].constant;
    if (!factor || numel(*factor) != 1 || factor->dtype() != ScalarType::F32) continue;
    if (!(graph_.values[data].sizes == graph_.values[node.output].sizes)) continue;
    XnnNode* source = foldable_source(data);
    if (source == nullptr || !takes_factor(*source, factor)) continue;
    fold(*source, {reshaped(*factor, {1}), std::nullopt}, channels_of(*source));
    const std::uint32_t last = uses_.producer[data];
    graph_.nodes[last].output = node.output;
    merge_handles(graph_.nodes[last].handles, node.handles);
    uses_.producer[node.output] = last;
    node.kind = NodeKind::None;
    return true;
  }
  return false;
}

void AffineFolder::run() {
  for (XnnNode& node : graph_.nodes) {
    const bool is_affine = node.kind == NodeKind::ChannelAffine;
    if (!is_affine && node.kind != NodeKind::Multiply && node.kind != NodeKind::Add) continue;
    if (node.is_clamped()) continue;
    if (node.kind == NodeKind::Multiply && fold_number(node)) continue;
    for (std::size_t i = 0; i < (is_affine ? 1U : 2U); ++i) {
      XnnNode* producer = foldable_producer(node.inputs[i]);
      if (producer == nullptr) continue;
      const Channels channels = channels_of(*producer);
      auto affine = affine_of(node, i, channels);
      if (!affine || !takes_factor(*producer, affine->scale)) continue;
      fold(*producer, *affine, channels);
      producer->output = node.output;
      merge_handles(producer->handles, node.handles);
      uses_.producer[node.output] = uses_.producer[node.inputs[i]];
      node.kind = NodeKind::None;
      break;
    }
  }
  remove_unused(graph_);
}

}  // namespace

void fold_affine(XnnGraph& graph) {
  AffineFolder(graph).run();
}

}  // namespace depute::xnnpack
