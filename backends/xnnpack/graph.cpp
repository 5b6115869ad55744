#include "graph.h"

#include <algorithm>
#include <iterator>

namespace depute::xnnpack {

ValueId XnnGraph::add_value(ScalarType dtype, Dims sizes) {
  values.emplace_back();
  values.back().dtype = dtype;
  values.back().sizes = std::move(sizes);
  return static_cast<ValueId>(values.size() - 1);
}

ValueId XnnGraph::add_value_like(ValueId other, Dims sizes) {
  const ValueId id = add_value(values[other].dtype, std::move(sizes));
  values[id].quantization = values[other].quantization;
  return id;
}

ValueId XnnGraph::add_constant(Constant constant) {
  ValueId id = add_value(constant.dtype(), constant.sizes());
  values[id].constant = std::move(constant);
  return id;
}

XnnNode node_for(const XnnNode& like, NodeKind kind, std::vector<ValueId> inputs, ValueId output,
                 NodeParams params) {
  XnnNode node;
  node.kind = kind;
  node.inputs = std::move(inputs);
  node.output = output;
  node.params = std::move(params);
  node.handles = like.handles;
  return node;
}

// A Reshape, or a Slice of the whole if several sizes are dynamic.
XnnNode plain_copy(const XnnGraph& graph, const XnnNode& like, ValueId from) {
  const Dims& sizes = graph.values[from].sizes;
  if (symbolic_count(sizes) <= 1) return node_for(like, NodeKind::Reshape, {from}, no_value);
  const std::vector<std::uint32_t> zeros(sizes.size());
  return node_for(like, NodeKind::Slice, {from}, no_value, SliceRange{zeros, zeros});
}

bool is_binary(NodeKind kind) {
  using enum NodeKind;
  return kind == Add || kind == Subtract || kind == Multiply || kind == Div || kind == Minimum ||
         kind == Maximum || kind == PRelu;
}

bool is_unary(NodeKind kind) {
  using enum NodeKind;
  switch (kind) {
    case Sigmoid:
    case Clamp:
    case Floor:
    case Convert:
    case SquareRoot:
    case Ceiling:
    case Hardswish:
    case Leaky:
    case Negate:
    case Square:
    case Elu:
    case Abs:
    case ReciprocalSquareRoot:
    case Log:
    case Gelu:
    case Tanh:
    case Exp:
    case Sin:
    case Copy:
    case Cos:
      return true;
    default:
      return false;
  }
}

bool is_convolution(NodeKind kind) {
  using enum NodeKind;
  return kind == Conv2d || kind == DepthwiseConv2d || kind == ConvTranspose2d;
}

bool moves_elements(NodeKind kind) {
  return kind == NodeKind::Reshape || kind == NodeKind::Transpose || kind == NodeKind::Slice;
}

bool is_pointwise(const XnnNode& node) {
  if (node.kind != NodeKind::Conv2d) return false;
  const auto is_one = [](const Window::Pair& pair) { return pair.height == 1 && pair.width == 1; };
  const auto& window = node.get<Window>();
  const bool is_padded =
      (window.padding_top | window.padding_right | window.padding_bottom | window.padding_left) != 0;
  return is_one(window.kernel) && is_one(window.stride) && !is_padded && window.groups == 1;
}

bool can_clamp(NodeKind kind) {
  using enum NodeKind;
  switch (kind) {
    case Add:
    case Subtract:
    case Multiply:
    case Div:
    case Clamp:
    case FullyConnected:
    case AvgPooling2d:
    case MaxPooling2d:
    case GlobalAvgPooling2d:
    case ChannelAffine:
      return true;
    default:
      return is_convolution(kind);
  }
}

GraphUses find_uses(const XnnGraph& graph) {
  GraphUses uses;
  uses.producer.assign(graph.values.size(), no_value);
  uses.count.assign(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const XnnNode& node = graph.nodes[i];
    if (node.kind == NodeKind::None) continue;
    uses.producer[node.output] = static_cast<std::uint32_t>(i);
    for (ValueId input : node.inputs) {
      if (input != no_value) ++uses.count[input];
    }
  }
  for (ValueId output : graph.outputs) ++uses.count[output];
  for (std::size_t i = 0; i < graph.values.size(); ++i) uses.count[i] += graph.values[i].is_output ? 1 : 0;
  return uses;
}

std::size_t symbolic_count(const Dims& sizes) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sizes, [](const SymInt& size) { return !size.is_constant(); }));
}

bool may_be_empty(const Dims& sizes, const Ranges& ranges) {
  return std::ranges::any_of(sizes, [&](const SymInt& size) { return bounds(size, ranges).min <= 0; });
}

// The counts are equal if the size in all repeated dimensions is 1, or if another dimension is empty.
Fit fit_of(const Dims& operand, const Dims& result, const Ranges& ranges) {
  const std::size_t missing = result.size() - std::min(operand.size(), result.size());
  bool is_same = true, may_be_same = true;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if ((i < missing ? SymInt(1) : operand[i - missing]) == result[i]) continue;
    is_same = false;
    may_be_same = may_be_same && bounds(result[i], ranges).min <= 1;
  }
  if (is_same) return Fit::Always;
  return may_be_same || may_be_empty(operand, ranges) ? Fit::ForSomeSizes : Fit::Never;
}

void merge_handles(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
  if (from.empty() || into == from) return;
  if (into.empty() || into.back() < from.front()) {  // avoids quadratic time if a long run of nodes is merged
    into.insert(into.end(), from.begin(), from.end());
    return;
  }
  std::vector<std::uint32_t> merged;
  std::ranges::set_union(into, from, std::back_inserter(merged));
  into = std::move(merged);
}

void remove_unused(XnnGraph& graph) {
  GraphUses uses = find_uses(graph);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (node->kind == NodeKind::None || uses.count[node->output] > 0) continue;
    for (ValueId input : node->inputs) {
      if (input != no_value) --uses.count[input];
    }
    node->kind = NodeKind::None;
  }
  std::erase_if(graph.nodes, [](const XnnNode& node) { return node.kind == NodeKind::None; });
}

}  // namespace depute::xnnpack
