// Folds only what every processor takes: padding with the value that stands for 0, which is smaller than the kernel.
#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "graph.h"

namespace depute::tosa {
namespace {

using Makers = std::unordered_map<TensorId, const TosaOp*>;

bool is_convolution(Op op) {
  return op == Op::Conv2d || op == Op::Conv3d || op == Op::DepthwiseConv2d;
}

// The sizes of a kernel lie behind the channels of the result, but of a DEPTHWISE_CONV2D in front.
std::int64_t kernel_size(const TosaGraph& graph, const TosaOp& conv, std::size_t dim) {
  return graph.tensors[conv.inputs[1]].shape[dim + (conv.op == Op::DepthwiseConv2d ? 0 : 1)];
}

bool have_same_value(const TosaTensor& a, const TosaTensor& b) {
  if (!a.constant || !b.constant || a.dtype != b.dtype) return false;
  const weights::Bytes of_a(a.constant->storage()), of_b(b.constant->storage());
  return std::ranges::equal(of_a.view(), of_b.view());
}

// Returns the padding of both, or an empty list if the convolution cannot have it.
std::vector<std::int32_t> padding_of_both(const TosaGraph& graph, const TosaOp& pad, const TosaOp& conv) {
  const std::vector<std::int64_t>& added = graph.tensors[pad.inputs[1]].numbers;
  const auto& window = std::get<Window>(conv.attributes);
  const std::size_t dims = window.stride.size();
  if (added.size() != 2 * (dims + 2) || window.pad.size() != 2 * dims) return {};
  if (added[0] != 0 || added[1] != 0 || added.back() != 0 || added[added.size() - 2] != 0) return {};
  std::vector<std::int32_t> sum;
  for (std::size_t i = 0; i < 2 * dims; ++i) {
    const std::int64_t padding = window.pad[i] + added[i + 2];
    if (added[i + 2] < 0 || padding > window.dilation[i / 2] * (kernel_size(graph, conv, i / 2) - 1))
      return {};
    sum.push_back(static_cast<std::int32_t>(padding));
  }
  return sum;
}

void fold(TosaGraph& graph, const TosaOp& pad, TosaOp& conv) {
  const std::vector<std::int32_t> padding = padding_of_both(graph, pad, conv);
  if (padding.empty()) return;
  std::get<Window>(conv.attributes).pad = padding;
  conv.inputs[0] = pad.inputs[0];
  std::vector<std::uint32_t> handles;
  std::ranges::set_union(pad.handles, conv.handles, std::back_inserter(handles));
  conv.handles = std::move(handles);
}

}  // namespace

void fold_pads(TosaGraph& graph) {
  Makers pads;
  for (TosaOp& op : graph.ops) {
    if (op.op == Op::Pad) pads[op.output] = &op;
    if (!is_convolution(op.op)) continue;
    const auto pad = pads.find(op.inputs[0]);
    if (pad == pads.end()) continue;
    if (have_same_value(graph.tensors[pad->second->inputs[2]], graph.tensors[op.inputs[3]]))
      fold(graph, *pad->second, op);
  }
}

}  // namespace depute::tosa
