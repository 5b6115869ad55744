#include "node_text.h"

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
  std::string operator()(const Axes& axes) const {
    return fmt::format(", axes {}{}", numbers_text(axes.dims), axes.stay ? "" : " dropped");
  }
  std::string operator()(const Coefficient& coefficient) const {
    return fmt::format(", {}", coefficient.value);
  }
  std::string operator()(const TargetSize& size) const {
    return fmt::format(", {}x{}", size.height, size.width);
  }
};

}  // namespace

std::string kind_name(NodeKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kind_names.size() ? std::string(kind_names[index]) : fmt::format("kind {}", index);
}

std::string numbers_text(std::span<const std::uint32_t> numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string params_text(const NodeParams& params) {
  return std::visit(ParamsText{}, params);
}

std::string flags_text(std::uint32_t flags, float output_min, float output_max) {
  std::string text;
  if ((flags & transpose_weights) != 0) text += ", transposed";
  if ((flags & align_corners) != 0) text += ", align corners";
  if (output_min != -XnnNode::infinity || output_max != XnnNode::infinity)
    text += fmt::format(", clamp {}..{}", output_min, output_max);
  return text;
}

}  // namespace depute::xnnpack
