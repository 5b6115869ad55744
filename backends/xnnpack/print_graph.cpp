#include "print_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace depute::xnnpack {
namespace {

constexpr std::array<std::string_view, 51> kind_names = {
    "None",
    "Add",
    "FullyConnected",
    "Softmax",
    "Sigmoid",
    "Transpose",
    "Clamp",
    "Conv2d",
    "Div",
    "ResizeBilinear",
    "ConstantPad",
    "AvgPooling2d",
    "Minimum",
    "DepthwiseConv2d",
    "MaxPooling2d",
    "Multiply",
    "Subtract",
    "Floor",
    "Convert",
    "GlobalAvgPooling2d",
    "Reshape",
    "ArgMaxPooling",
    "SquareRoot",
    "Ceiling",
    "Hardswish",
    "Leaky",
    "Maximum",
    "Negate",
    "Square",
    "Elu",
    "Abs",
    "PRelu",
    "Concat2",
    "Concat3",
    "Concat4",
    "Slice",
    "Attention",
    "BatchMatrixMultiply",
    "Concat5",
    "ConvTranspose2d",
    "ReciprocalSquareRoot",
    "Log",
    "Gelu",
    "Tanh",
    "Exp",
    "Sin",
    "Copy",
    "Cos",
    "Concat",
    "Expand",
    "ChannelAffine",
};

struct ScaleText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const TensorScale& of) const {
    return fmt::format(" scale {} zero {}", of.scale, of.zero_point);
  }
  std::string operator()(const ChannelScales& of) const {
    return fmt::format(" {}scales {} \"{}\"", of.is_4bit ? "4 bit " : "", of.dim, of.scales.key());
  }
  std::string operator()(const GroupScales& of) const {
    return fmt::format(" 4 bit scales /{} \"{}\"", of.size, of.scales.key());
  }
  std::string operator()(const TokenScales& scales) const {
    return scales.dims == 1 ? " rows" : fmt::format(" slices of {} dimensions", scales.dims);
  }
};

std::string type_text(const XnnValue& value) {
  return str(make_tensor(value.dtype, value.sizes)) + std::visit(ScaleText{}, value.quantisation);
}

std::string operand_text(const XnnGraph& graph, ValueId id) {
  if (id == no_value) return "none";
  const XnnValue& value = graph.values[id];
  if (!value.constant) return fmt::format("%{}", id);
  return fmt::format("\"{}\": {}", value.constant->key(), type_text(value));
}

std::string numbers_text(std::span<const std::uint32_t> numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string pair_text(std::string_view name, Window::Pair pair, std::uint32_t usual) {
  if (pair.height == usual && pair.width == usual) return {};
  return fmt::format(", {} {}x{}", name, pair.height, pair.width);
}

std::string window_text(const Window& window) {
  std::string text = fmt::format(", kernel {}x{}", window.kernel.height, window.kernel.width);
  text += pair_text("stride", window.stride, 1);
  text += pair_text("dilation", window.dilation, 1);
  text += pair_text("adjustment", window.adjustment, 0);
  if ((window.padding_top | window.padding_right | window.padding_bottom | window.padding_left) != 0) {
    text += fmt::format(", padding {} {} {} {}", window.padding_top, window.padding_right,
                        window.padding_bottom, window.padding_left);
  }
  if (window.group_input_channels != 0) {
    text += fmt::format(", groups {} x {} -> {}", window.groups, window.group_input_channels,
                        window.group_output_channels);
  }
  return text;
}

struct ParamsText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(const Window& window) const { return window_text(window); }
  std::string operator()(const SliceRange& range) const {
    return fmt::format(", offsets {}, sizes {}", numbers_text(range.offsets), numbers_text(range.sizes));
  }
  std::string operator()(const PadWidths& pad) const {
    return fmt::format(", before {}, after {}, value {}", numbers_text(pad.before), numbers_text(pad.after),
                       pad.value);
  }
  std::string operator()(const Order& order) const { return fmt::format(", [{}]", fmt::join(order, ", ")); }
  std::string operator()(const Axis& axis) const { return fmt::format(", axis {}", axis.dim); }
  std::string operator()(const Axes& axes) const { return fmt::format(", axes {}", numbers_text(axes.dims)); }
  std::string operator()(const Coefficient& coefficient) const {
    return fmt::format(", {}", coefficient.value);
  }
  std::string operator()(const TargetSize& size) const {
    return fmt::format(", {}x{}", size.height, size.width);
  }
};

std::string flags_text(const XnnNode& node) {
  std::string text;
  if ((node.flags & transpose_weights) != 0) text += ", transposed";
  if ((node.flags & align_corners) != 0) text += ", align corners";
  if (node.quantises_input) text += ", input quantised";
  if (node.is_clamped()) text += fmt::format(", clamp {}..{}", node.output_min, node.output_max);
  return text;
}

}  // namespace

std::string print_graph(const XnnGraph& graph) {
  std::string text;
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const XnnValue& value = graph.values[id];
    if (value.is_input) text += fmt::format("%{}: {} = input {}\n", id, type_text(value), value.external_id);
  }
  for (const XnnNode& node : graph.nodes) {
    text += fmt::format("%{}: {} = {}(", node.output, type_text(graph.values[node.output]),
                        kind_names[static_cast<std::size_t>(node.kind)]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      text += (i == 0 ? "" : ", ") + operand_text(graph, node.inputs[i]);
    }
    text += std::visit(ParamsText{}, node.params) + flags_text(node) + ")";
    for (std::uint32_t handle : node.handles) text += fmt::format(" #{}", handle);
    text += "\n";
  }
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const XnnValue& value = graph.values[id];
    if (value.is_output) text += fmt::format("output {} = %{}\n", value.external_id, id);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("output {} = {}\n", graph.first_output_id + i, operand_text(graph, graph.outputs[i]));
  }
  return text;
}

}  // namespace depute::xnnpack
