#include "quantize/static_ops.h"

#include <algorithm>
#include <span>

namespace depute {
namespace {

struct StaticOp {
  std::string_view op;
  StaticRole role;
  StaticRole role_in_all = role;
};
constexpr std::string_view any_convolution = "aten.convolution.default";
constexpr StaticOp static_ops[] = {
    {"aten.linear.default", StaticRole::Linear},
    {"aten.conv1d.default", StaticRole::Convolution},
    {"aten.conv1d.padding", StaticRole::Convolution},
    {"aten.conv2d.default", StaticRole::Convolution},
    {"aten.conv2d.padding", StaticRole::Convolution},
    {"aten.conv3d.default", StaticRole::Convolution},
    {"aten.conv3d.padding", StaticRole::Convolution},
    {any_convolution, StaticRole::Convolution},
    {"aten.conv_transpose1d.default", StaticRole::TransposedConvolution},
    {"aten.conv_transpose2d.input", StaticRole::TransposedConvolution},
    {"aten.conv_transpose3d.input", StaticRole::TransposedConvolution},
    {"aten.add.Tensor", StaticRole::Arithmetic, StaticRole::Function},
    {"aten.mul.Tensor", StaticRole::Arithmetic, StaticRole::Function},
    {"aten.relu.default", StaticRole::Relu},
    {"aten.cat.default", StaticRole::Join},
    {"aten.adaptive_avg_pool2d.default", StaticRole::Pool, StaticRole::Function},
    {"aten.hardtanh.default", StaticRole::PassesOn, StaticRole::Relu},
    {"aten.max_pool2d.default", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.mean.default", StaticRole::PassesOn, StaticRole::Function},
    {"aten.mean.dim", StaticRole::PassesOn, StaticRole::Function},
    {"aten.permute.default", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.transpose.int", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.squeeze.dim", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.view.default", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.reshape.default", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.flatten.using_ints", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.slice.Tensor", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.dropout.default", StaticRole::PassesOn, StaticRole::Choice},
    {"aten.batch_norm.default", StaticRole::BatchNorm},
    {"aten._native_batch_norm_legit_no_training.default", StaticRole::BatchNorm},
};
// Core ops whose roles do not follow from the flags of their definitions.
constexpr StaticOp core_ops[] = {
    {"aten.amax.default", StaticRole::None, StaticRole::Choice},
    {"aten.amin.default", StaticRole::None, StaticRole::Choice},
    {"aten.avg_pool2d.default", StaticRole::None, StaticRole::Function},
    {"aten.bmm.default", StaticRole::None, StaticRole::Function},
    {"aten.clamp.default", StaticRole::None, StaticRole::Relu},
    {"aten.constant_pad_nd.default", StaticRole::None, StaticRole::Choice},
    {"aten.cumsum.default", StaticRole::None, StaticRole::Function},
    {"aten.embedding.default", StaticRole::None, StaticRole::Choice},
    {"aten.flip.default", StaticRole::None, StaticRole::Choice},
    {"aten.gather.default", StaticRole::None, StaticRole::Choice},
    {"aten.index.Tensor", StaticRole::None, StaticRole::Choice},
    {"aten.index_put.default", StaticRole::None, StaticRole::Choice},
    {"aten.index_select.default", StaticRole::None, StaticRole::Choice},
    {"aten.max.dim", StaticRole::None, StaticRole::Choice},
    {"aten.min.dim", StaticRole::None, StaticRole::Choice},
    {"aten.mm.default", StaticRole::None, StaticRole::Function},
    {"aten.pixel_shuffle.default", StaticRole::None, StaticRole::Choice},
    {"aten.repeat.default", StaticRole::None, StaticRole::Choice},
    {"aten.scatter.src", StaticRole::None, StaticRole::Choice},
    {"aten.select_scatter.default", StaticRole::None, StaticRole::Choice},
    {"aten.slice_scatter.default", StaticRole::None, StaticRole::Choice},
    {"aten.upsample_bilinear2d.vec", StaticRole::None, StaticRole::Function},
    {"aten.upsample_nearest2d.vec", StaticRole::None, StaticRole::Choice},
    {"aten.where.self", StaticRole::None, StaticRole::Choice},
};

const StaticOp* find_op(std::span<const StaticOp> list, std::string_view op) {
  const auto found = std::ranges::find(list, op, &StaticOp::op);
  return found == list.end() ? nullptr : &*found;
}

StaticRole role_by_flags(const OpDef& def) {
  if (def.is(OpFlag::Quantization)) return StaticRole::None;
  if (def.view_kind != ViewKind::None) return StaticRole::Choice;
  return def.is(OpFlag::Pointwise) || def.is(OpFlag::Reduction) ? StaticRole::Function : StaticRole::None;
}

}  // namespace

bool passes_numbers_on(const Node& node) {
  constexpr std::string_view arithmetic[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                             "aten.maximum.default", "aten.minimum.default"};
  const std::string_view op = node.op().str();
  if (std::ranges::find(arithmetic, op) != std::end(arithmetic)) return true;
  return op != "aten.embedding.default" && static_role(node, StaticOps::All) == StaticRole::Choice;
}

bool is_static_op(std::string_view op) {
  return find_op(static_ops, op) != nullptr;
}

StaticRole static_role(const Node& node, StaticOps ops) {
  const OpDef* def = node.def();
  const StaticOp* found = find_op(static_ops, node.op().str());
  if (found == nullptr && ops == StaticOps::All) found = find_op(core_ops, node.op().str());
  if (def == nullptr || (found == nullptr && ops == StaticOps::Layers) || !check_call(node))
    return StaticRole::None;
  if (found == nullptr) return role_by_flags(*def);
  if (found->op == any_convolution && OpCall(node).boolean("transposed"))
    return StaticRole::TransposedConvolution;
  return ops == StaticOps::All ? found->role_in_all : found->role;
}

}  // namespace depute
