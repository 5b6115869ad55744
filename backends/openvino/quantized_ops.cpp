// Chooses the conversions of quantization nodes, and defines the two conversions that OpenVINO lacks.
//
//   dequantize(%x: i8, 0.5, 3)   ->   (f32(%x) - 3) * 0.5
//   quantize(%x: f32, 0.5, 3)    ->   i8(clamp(round(%x / 0.5) + 3, -128, 127))
#include "quantized_ops.h"

#include <openvino/frontend/pytorch/extension/conversion.hpp>
#include <openvino/frontend/pytorch/node_context.hpp>
#include <openvino/opsets/opset13.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "depute/program/op.h"
#include "depute/program/program.h"

namespace depute::openvino {
namespace {

using ov::frontend::NodeContext;
namespace opset = ov::opset13;

constexpr std::array<std::string_view, 3> quantizing = {"quantized_decomposed.quantize_per_tensor.default",
                                                        "quantized_decomposed.quantize_per_tensor.tensor",
                                                        "quantized_decomposed.quantize_per_channel.default"};
constexpr std::array<std::string_view, 3> dequantizing = {
    "quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_channel.default"};

bool is_among(Name op, const auto& names) {
  return std::ranges::find(names, op.str()) != names.end();
}

// True if both nodes have equal arguments besides the tensor.
bool quantize_alike(const Node& quantize, const Node& dequantize) {
  const OpCall one(quantize), other(dequantize);
  for (std::size_t i = 1; i < one.args().size(); ++i) {
    if (i >= other.args().size() || !same_argument(one[i], other[i])) return false;
  }
  return true;
}

// True if every reader dequantizes with the same parameters: the pair is a FakeQuantize.
bool is_fake_quantize(const GraphPart& part, const Node& node) {
  if (!is_among(node.op(), quantizing) || !node.result()->has_uses()) return false;
  return std::ranges::all_of(node.result()->uses(), [&](const Use& use) {
    const Node& user = *use.user();
    return is_among(user.op(), dequantizing) && part.includes(user) && quantize_alike(node, user);
  });
}

bool is_zero(const ov::Output<ov::Node>& value) {
  const auto constant = ov::as_type_ptr<opset::Constant>(value.get_node_shared_ptr());
  if (constant == nullptr) return false;
  return std::ranges::all_of(constant->cast_vector<float>(), [](float each) { return each == 0; });
}

// Returns a number, or one number per index of an axis, as f32 in a shape that broadcasts over the tensor.
ov::Output<ov::Node> broadcastable(const NodeContext& context, const ov::Output<ov::Node>& value,
                                   std::size_t rank, std::optional<std::int64_t> axis) {
  ov::Output<ov::Node> numbers = value;
  if (numbers.get_element_type() != ov::element::f32)
    numbers = context.mark_node(std::make_shared<opset::Convert>(numbers, ov::element::f32));
  std::vector<std::int64_t> shape;
  if (axis) {
    shape.assign(rank, 1);
    shape.at(static_cast<std::size_t>(*axis < 0 ? *axis + static_cast<std::int64_t>(rank) : *axis)) = -1;
  }
  const auto pattern = opset::Constant::create(ov::element::i64, {shape.size()}, shape);
  return context.mark_node(std::make_shared<opset::Reshape>(numbers, pattern, false));
}

// Returns the value of a literal argument.
double number_of(const NodeContext& context, std::size_t index) {
  const auto constant =
      ov::as_type_ptr<opset::Constant>(context.get_input(static_cast<int>(index)).get_node_shared_ptr());
  FRONT_END_GENERAL_CHECK(constant != nullptr, "an argument must be a constant");
  return constant->cast_vector<double>().at(0);
}

// The arguments of both conversions: (x, scale, zero_point, [axis,] quant_min, quant_max, dtype).
struct Quantization {
  explicit Quantization(const NodeContext& context) : x(context.get_input(0)) {
    const auto rank = static_cast<std::size_t>(x.get_partial_shape().rank().get_length());
    const auto scales = context.get_input(1);
    if (scales.get_partial_shape().rank().get_length() == 1 && context.get_input_size() > first_limit + 2) {
      axis = static_cast<std::int64_t>(number_of(context, 3));
    }
    limits = axis ? first_limit + 1 : first_limit;
    scale = broadcastable(context, scales, rank, axis);
    has_zero_point = !context.input_is_none(2) && !is_zero(context.get_input(2));
    if (has_zero_point) zero_point = broadcastable(context, context.get_input(2), rank, axis);
  }

  static constexpr std::size_t first_limit = 3;
  ov::Output<ov::Node> x, scale, zero_point;
  bool has_zero_point = false;
  std::optional<std::int64_t> axis;
  std::size_t limits = first_limit;  // index of quant_min
};

ov::OutputVector dequantize(const NodeContext& context) {
  const Quantization given(context);
  ov::Output<ov::Node> y = context.mark_node(std::make_shared<opset::Convert>(given.x, ov::element::f32));
  if (given.has_zero_point) y = context.mark_node(std::make_shared<opset::Subtract>(y, given.zero_point));
  return {context.mark_node(std::make_shared<opset::Multiply>(y, given.scale))};
}

ov::OutputVector quantize(const NodeContext& context) {
  const Quantization given(context);
  ov::Output<ov::Node> y = context.mark_node(std::make_shared<opset::Divide>(given.x, given.scale));
  y = context.mark_node(std::make_shared<opset::Round>(y, opset::Round::RoundMode::HALF_TO_EVEN));
  if (given.has_zero_point) y = context.mark_node(std::make_shared<opset::Add>(y, given.zero_point));
  y = context.mark_node(std::make_shared<opset::Clamp>(y, number_of(context, given.limits),
                                                       number_of(context, given.limits + 1)));
  const auto type = context.get_attribute<ov::element::Type>(result_type_key);
  return {context.mark_node(std::make_shared<opset::Convert>(y, type))};
}

}  // namespace

bool is_quantized_op(Name op) {
  return is_among(op, quantizing) || is_among(op, dequantizing);
}

std::string converted_op(const GraphPart& part, const Node& node) {
  if (is_among(node.op(), quantizing) && !is_fake_quantize(part, node)) return quantize_op;
  if (is_among(node.op(), dequantizing)) {
    const Node* producer = node.operand(0)->producer();
    if (producer == nullptr || !part.includes(*producer) || !is_fake_quantize(part, *producer))
      return dequantize_op;
  }
  return table_name(node.op());
}

std::vector<std::shared_ptr<ov::Extension>> quantized_extensions() {
  const auto extension = [](const char* op, ov::OutputVector (*conversion)(const NodeContext&)) {
    return std::make_shared<ov::frontend::pytorch::ConversionExtension>(op, conversion);
  };
  return {extension(quantize_op, quantize), extension(dequantize_op, dequantize)};
}

}  // namespace depute::openvino
