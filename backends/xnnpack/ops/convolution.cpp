// Convolutions over one or two dimensions: grouped, depthwise or transposed. A 1-d convolution becomes a 2-d
// one with height 1. Weights have the layout [out, height, width, in], depthwise ones [1, height, width,
// out].
#include <algorithm>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

Check check_convolution(const NodeQuery& node) {
  if (node.call["transposed"].as_bool()) {
    DEPUTE_REFUSE_IF(need_ints(node, "output_padding", 0));
    const std::vector<std::int64_t> added = node.call.ints("output_padding");
    const std::vector<std::int64_t> stride = node.call.ints("stride");
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i] >= stride[std::min(i, stride.size() - 1)]) {
        return refuse_argument(node, "output_padding", "less than the stride");
      }
    }
  }
  return {};
}

// Returns the values of a list for height and width. A list for one dimension gives the width.
Window::Pair pair_of(const OpCall& call, std::string_view name, std::uint32_t otherwise) {
  const std::vector<std::int64_t> numbers = call.ints(name);
  auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(numbers[i]); };
  if (call.tensor("input").rank() == 3) return {otherwise, number(0)};
  return {number(0), number(numbers.size() - 1)};
}

Window window_of(const OpCall& call, const Dims& weight) {
  Window window;
  const Window::Pair padding = pair_of(call, "padding", 0);
  window.padding_top = window.padding_bottom = padding.height;
  window.padding_left = window.padding_right = padding.width;
  window.kernel = {static_cast<std::uint32_t>(weight[2].value()),
                   static_cast<std::uint32_t>(weight[3].value())};
  window.stride = pair_of(call, "stride", 1);
  window.dilation = pair_of(call, "dilation", 1);
  window.groups = static_cast<std::uint32_t>(call["groups"].as_int());
  return window;
}

// [out, in, h, w] -> [out, h, w, in], or [1, h, w, out] if each group has one input channel.
Constant forward_weight(const Constant& weight, NodeKind kind) {
  return kind == NodeKind::DepthwiseConv2d ? permuted(weight, {1, 2, 3, 0}) : permuted(weight, {0, 2, 3, 1});
}

// [groups * in, out, h, w] -> [groups * out, h, w, in]
Constant transposed_weight(const Constant& weight, std::int64_t groups) {
  const Dims s = weight.sizes();
  const std::int64_t in = s[0].value() / groups;
  const Constant grouped = permuted(reshaped(weight, {groups, in, s[1], s[2], s[3]}), {0, 2, 3, 4, 1});
  return reshaped(grouped, {groups * s[1].value(), s[2], s[3], in});
}

void translate_convolution(Emitter& emit, const OpCall& call) {
  ValueId x = emit.input(call, "input");
  Constant weight = to_f32(*emit.constant_of(emit.input(call, "weight")));
  Dims result = emit.result_sizes();
  const bool is_1d = emit.rank(x) == 3;
  if (is_1d) {
    const Dims s = emit.sizes(x);
    const Dims w = weight.sizes();
    x = emit.reshape(x, {s[0], s[1], 1, s[2]});
    weight = reshaped(weight, {w[0], w[1], 1, w[2]});
    result.insert(result.begin() + 2, SymInt(1));
  }
  Window window = window_of(call, weight.sizes());
  const bool is_transposed = call["transposed"].as_bool();
  const auto first = static_cast<std::uint32_t>(weight.sizes()[0].value());
  const auto second = static_cast<std::uint32_t>(weight.sizes()[1].value());
  NodeKind kind = is_depthwise(call) ? NodeKind::DepthwiseConv2d : NodeKind::Conv2d;
  window.group_input_channels = is_transposed ? first / window.groups : second;
  window.group_output_channels = is_transposed ? second : first / window.groups;
  if (is_transposed) {
    kind = NodeKind::ConvTranspose2d;
    window.adjustment = pair_of(call, "output_padding", 0);
    weight = transposed_weight(weight, window.groups);
  } else {
    weight = forward_weight(weight, kind);
  }
  ValueId bias = emit.optional_input(call, "bias");
  if (bias != no_value) bias = emit.constant(to_f32(*emit.constant_of(bias)));
  const ValueId y = emit.add_sized(kind, {x, emit.constant(weight), bias}, std::move(result), window);
  if (emit.is_in_rows(*call.value("input"))) emit.quantize_rows();
  emit.result(emit.reshape(y, emit.result_sizes()));
}

}  // namespace

std::span<const OpRule> convolution() {
  static constexpr Limit limits[] = {limit::ranks("input", 3, 4), limit::weight("weight"),
                                     limit::constant("bias"),     limit::ints("stride", 1),
                                     limit::ints("padding", 0),   limit::ints("dilation", 1),
                                     limit::number("groups"),     limit::batch("input")};
  static constexpr OpRule rules[] = {
      {.op = "aten.convolution.default",
       .conditions = "output_padding less than the stride",
       .forms = {limits},
       .packs = "weight",
       .check = check_convolution,
       .translate = translate_convolution},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
