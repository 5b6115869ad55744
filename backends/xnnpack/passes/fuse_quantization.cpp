// Computes with integers where a program dequantizes, computes and quantizes again. Before this pass,
// integers and floats are separate values with a Convert between them. A node without an integer form
// therefore stays correct.
//
//   Convert i8 -> f32, Conv2d, Convert f32 -> i8        Conv2d on i8
//   Convert i8 -> f32, Reshape                     ->   Reshape on i8, Convert
//   Reshape, Convert f32 -> i8                          Convert, Reshape on i8
//   ConstantPad, Convert f32 -> i8                      Convert, ConstantPad on i8
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "passes/simplify.h"
#include "payload/packed_weights.h"
#include "support/check.h"

namespace depute::xnnpack {
namespace {

// The required relation between the scales of a node's integers.
enum class IntegerForm : std::uint8_t { None, Product, Sum, Multiply, Slope, Equal, Any };

IntegerForm integer_form(NodeKind kind) {
  using enum NodeKind;
  switch (kind) {
    case FullyConnected:
    case Conv2d:
    case DepthwiseConv2d:
    case ConvTranspose2d:
      return IntegerForm::Product;
    case Add:
    case Subtract:
      return IntegerForm::Sum;
    case Multiply:
      return IntegerForm::Multiply;
    case Leaky:
      return IntegerForm::Slope;
    case Concat:
    case MaxPooling2d:
    case ResizeBilinear:
    case Clamp:
      return IntegerForm::Equal;
    case GlobalAvgPooling2d:
    case Sigmoid:
    case Tanh:
    case Hardswish:
    case Elu:
    case Gelu:
    case Exp:
    case Log:
    case SquareRoot:
    case Abs:
    case Negate:
    case Square:
      return IntegerForm::Any;
    default:
      return IntegerForm::None;
  }
}

bool is_within(double ratio, int min_power, int below_power) {
  return ratio >= std::ldexp(1.0, min_power) && ratio < std::ldexp(1.0, below_power);
}

// Rounds to a whole number of steps. The runtime would round ties together with the zero point.
float nearest(float number, float scale) {
  return scale * std::nearbyint(number / scale);
}

class QuantizationFuser {
 public:
  explicit QuantizationFuser(XnnGraph& graph) : graph_(graph) {}
  void run();

 private:
  const TensorScale* scale_of(ValueId value) const {
    return std::get_if<TensorScale>(&graph_.values[value].quantization);
  }
  // True for a Convert from floats to integers, or from integers to floats.
  bool quantizes(const XnnNode& node) const;
  bool dequantizes(const XnnNode& node) const;

  // True if integers can be moved, or padded, instead of the floats that they represent.
  bool can_quantize_before(const XnnNode& node) const {
    return moves_elements(node.kind) || node.kind == NodeKind::ConstantPad;
  }
  bool can_dequantize_behind(const XnnNode& node) const {
    return moves_elements(node.kind) ||
           (node.kind == NodeKind::ConstantPad && node.get<PadWidths>().value == 0);
  }

  void quantize_earlier();
  void dequantize_later();
  void fuse_all();
  bool fuse(XnnNode& node, ValueId result);
  // Returns the integers from which a float value was or can be made, or no_value.
  ValueId integers_of_operand(ValueId value);
  bool fits(const XnnNode& node, std::span<const ValueId> operands, const TensorScale& result) const;
  bool can_keep_buffers(const XnnNode& node) const;
  bool fuse_product(XnnNode& node, ValueId operand, const TensorScale& result);

  XnnGraph& graph_;
  std::unordered_map<ValueId, ValueId> dequantized_from_;
  std::unordered_map<ValueId, std::uint32_t> dequantized_by_;
};

bool QuantizationFuser::quantizes(const XnnNode& node) const {
  return node.kind == NodeKind::Convert && scale_of(node.output) != nullptr &&
         graph_.values[node.inputs[0]].dtype == ScalarType::F32;
}

bool QuantizationFuser::dequantizes(const XnnNode& node) const {
  return node.kind == NodeKind::Convert && scale_of(node.inputs[0]) != nullptr &&
         graph_.values[node.output].dtype == ScalarType::F32;
}

// Moves quantization before nodes that only move elements or pad: mover, quantize -> quantize, mover. The
// runtime quantizes the padding value with the result's scale.
void QuantizationFuser::quantize_earlier() {
  const GraphUses uses = find_uses(graph_);
  for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
    XnnNode& quantize = graph_.nodes[i];
    if (!quantizes(quantize)) continue;
    const ValueId moved = quantize.inputs[0];
    const std::uint32_t index = uses.producer[moved];
    if (index == no_value || uses.count[moved] != 1 || !can_quantize_before(graph_.nodes[index])) continue;
    XnnNode& mover = graph_.nodes[index];
    const ValueId source = mover.inputs[0];
    const ValueId integers = graph_.add_value_like(quantize.output, Dims(graph_.values[source].sizes));
    if (auto* pad = std::get_if<PadWidths>(&mover.params))
      pad->value = nearest(pad->value, scale_of(quantize.output)->scale);
    std::swap(mover.kind, quantize.kind);
    std::swap(mover.params, quantize.params);
    std::swap(mover.flags, quantize.flags);
    std::swap(mover.handles, quantize.handles);
    mover.output = quantize.inputs[0] = integers;
  }
}

// Moves dequantization behind nodes that only move elements or pad with zeros; zero is exact at every scale.
// Quantizing again with the same scale gives the same integers.
void QuantizationFuser::dequantize_later() {
  std::vector<XnnNode> nodes;
  std::unordered_map<ValueId, ValueId> same;
  const auto push = [&](XnnNode node) {
    if (dequantizes(node)) {
      dequantized_from_[node.output] = node.inputs[0];
      dequantized_by_[node.output] = static_cast<std::uint32_t>(nodes.size());
    }
    nodes.push_back(std::move(node));
  };
  for (XnnNode& node : graph_.nodes) {
    for (ValueId& input : node.inputs)
      if (auto found = same.find(input); found != same.end()) input = found->second;
    const auto source =
        node.inputs.empty() ? dequantized_from_.end() : dequantized_from_.find(node.inputs[0]);
    const bool is_dequantized = source != dequantized_from_.end();
    if (is_dequantized && can_dequantize_behind(node)) {
      XnnNode dequantize;
      dequantize.kind = NodeKind::Convert;
      dequantize.handles = node.handles;
      dequantize.output = node.output;
      const ValueId integers = graph_.add_value_like(source->second, Dims(graph_.values[node.output].sizes));
      node.inputs[0] = source->second;
      node.output = integers;
      dequantize.inputs = {integers};
      push(std::move(node));
      push(std::move(dequantize));
    } else if (is_dequantized && quantizes(node) && *scale_of(source->second) == *scale_of(node.output)) {
      same[node.output] = source->second;
    } else {
      push(std::move(node));
    }
  }
  for (ValueId& output : graph_.outputs)
    if (auto found = same.find(output); found != same.end()) output = found->second;
  graph_.nodes = std::move(nodes);
}

ValueId QuantizationFuser::integers_of_operand(ValueId value) {
  if (auto found = dequantized_from_.find(value); found != dequantized_from_.end()) return found->second;
  const std::optional<Constant> constant = graph_.values[value].constant;
  if (!constant || constant->dtype() != ScalarType::F32) return no_value;
  if (constant->is_quantized() && numel(*constant->scale) == 1) {
    const ValueId integers = graph_.add_constant(xnnpack::integers_of(*constant));
    graph_.values[integers].quantization = TensorScale{to_floats(*constant->scale)[0], 0};
    return integers;
  }
  // A single number is +1 or -1 with its magnitude as scale.
  if (numel(*constant) != 1) return no_value;
  const float number = to_floats(*constant)[0];
  if (!std::isnormal(number)) return no_value;
  const auto sign = static_cast<std::byte>(number < 0 ? -1 : 1);
  const ValueId integers =
      graph_.add_constant(converted("sign", {*constant}, ScalarType::I8, constant->sizes(),
                                    [sign](std::span<Bytes>) { return std::vector<std::byte>{sign}; }));
  graph_.values[integers].quantization = TensorScale{std::abs(number), 0};
  return integers;
}

// True if keep_buffers() needs no second reader for a sum or product: it would compute a maximum, of floats.
bool QuantizationFuser::can_keep_buffers(const XnnNode& node) const {
  const auto fit = [&](std::size_t i) {
    return fit_of(graph_.values[node.inputs[i]].sizes, graph_.values[node.output].sizes, graph_.ranges);
  };
  if (fit(0) == Fit::Always || (fit(1) == Fit::Always && node.kind != NodeKind::Subtract)) return true;
  return fit(0) != Fit::ForSomeSizes && fit(1) != Fit::ForSomeSizes;
}

bool QuantizationFuser::fits(const XnnNode& node, std::span<const ValueId> operands,
                             const TensorScale& result) const {
  const auto ratio = [&](std::size_t i) { return double{scale_of(operands[i])->scale} / result.scale; };
  switch (integer_form(node.kind)) {
    case IntegerForm::Sum:
      return is_within(ratio(0), -10, 8) && is_within(ratio(1), -10, 8) && can_keep_buffers(node);
    case IntegerForm::Multiply:
      return is_within(ratio(0) * scale_of(operands[1])->scale, -16, 8) && can_keep_buffers(node);
    case IntegerForm::Slope: {
      const double slope = std::abs(double{node.get<Coefficient>().value} * ratio(0));
      return is_within(ratio(0), -8, 7) && is_within(slope, -8, 7);
    }
    case IntegerForm::Equal:
      return std::ranges::all_of(operands, [&](ValueId operand) { return *scale_of(operand) == result; });
    case IntegerForm::Any:
      return true;
    case IntegerForm::Product:
    case IntegerForm::None:
      break;
  }
  return false;
}

bool QuantizationFuser::fuse_product(XnnNode& node, ValueId operand, const TensorScale& result) {
  if (node.quantizes_input) return false;
  const auto weight = packed_weight(graph_, node);
  if (!weight || !weight->scales) return false;
  const std::optional<Constant> bias =
      node.inputs[2] == no_value ? std::nullopt : graph_.values[node.inputs[2]].constant;
  if (node.inputs[2] != no_value && (!bias || bias->dtype() != ScalarType::F32)) return false;
  // The unit of the sums: input scale times weight scale.
  const float input_scale = scale_of(operand)->scale;
  const std::vector<float> scales = to_floats(*weight->scales);
  for (float scale : scales) {
    const float unit = input_scale * scale;
    if (!std::isnormal(unit) || !(unit / result.scale < 256)) return false;
  }
  if (bias) {
    const Constant units =
        computed(fmt::format("units:{}", input_scale), {*weight->scales}, weight->scales->sizes(),
                 [input_scale](std::span<const std::vector<float>> in) {
                   std::vector<float> unit = in[0];
                   for (float& scale : unit) scale *= input_scale;
                   return unit;
                 });
    const ValueId sums = graph_.add_constant(in_units(*bias, units));
    graph_.values[sums].quantization = ChannelScales{.scales = units};
    node.inputs[2] = sums;
  }
  use_packed(graph_, node, *weight);
  return true;
}

bool QuantizationFuser::fuse(XnnNode& node, ValueId result) {
  const IntegerForm form = integer_form(node.kind);
  if (form == IntegerForm::None) return false;
  const std::size_t count = form == IntegerForm::Product ? 1 : node.inputs.size();
  std::vector<ValueId> operands;
  bool has_integers = false;
  for (std::size_t i = 0; i < count; ++i) {
    has_integers |= dequantized_from_.contains(node.inputs[i]);
    operands.push_back(integers_of_operand(node.inputs[i]));
    if (operands.back() == no_value) return false;
  }
  if (!has_integers) return false;
  const TensorScale scale = *scale_of(result);
  if (form == IntegerForm::Product ? !fuse_product(node, operands[0], scale) : !fits(node, operands, scale))
    return false;
  for (std::size_t i = 0; i < count; ++i) {
    auto by = dequantized_by_.find(node.inputs[i]);
    if (by != dequantized_by_.end()) merge_handles(node.handles, graph_.nodes[by->second].handles);
    node.inputs[i] = operands[i];
  }
  node.output = result;
  return true;
}

void QuantizationFuser::fuse_all() {
  const GraphUses uses = find_uses(graph_);
  for (XnnNode& quantize : graph_.nodes) {
    if (!quantizes(quantize)) continue;
    const ValueId number = quantize.inputs[0];
    const std::uint32_t index = uses.producer[number];
    if (index == no_value || uses.count[number] != 1) continue;
    XnnNode& node = graph_.nodes[index];
    if (!fuse(node, quantize.output)) continue;
    merge_handles(node.handles, quantize.handles);
    quantize.kind = NodeKind::None;
  }
}

void QuantizationFuser::run() {
  quantize_earlier();
  dequantize_later();
  fuse_all();
  remove_unused(graph_);
}

}  // namespace

void fuse_quantization(XnnGraph& graph) {
  QuantizationFuser(graph).run();
  fuse_clamps(graph);
  fold_pads(graph);
}

}  // namespace depute::xnnpack
