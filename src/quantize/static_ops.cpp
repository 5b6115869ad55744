#include "quantize/static_ops.h"

#include <algorithm>

namespace depute {
namespace {

struct StaticOp {
  std::string_view op;
  StaticRole role;
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
    {"aten.add.Tensor", StaticRole::Arithmetic},
    {"aten.mul.Tensor", StaticRole::Arithmetic},
    {"aten.relu.default", StaticRole::Relu},
    {"aten.cat.default", StaticRole::Join},
    {"aten.adaptive_avg_pool2d.default", StaticRole::Pool},
    {"aten.hardtanh.default", StaticRole::PassesOn},
    {"aten.max_pool2d.default", StaticRole::PassesOn},
    {"aten.mean.default", StaticRole::PassesOn},
    {"aten.mean.dim", StaticRole::PassesOn},
    {"aten.permute.default", StaticRole::PassesOn},
    {"aten.transpose.int", StaticRole::PassesOn},
    {"aten.squeeze.dim", StaticRole::PassesOn},
    {"aten.view.default", StaticRole::PassesOn},
    {"aten.reshape.default", StaticRole::PassesOn},
    {"aten.flatten.using_ints", StaticRole::PassesOn},
    {"aten.slice.Tensor", StaticRole::PassesOn},
    {"aten.dropout.default", StaticRole::PassesOn},
    {"aten.batch_norm.default", StaticRole::BatchNorm},
    {"aten._native_batch_norm_legit_no_training.default", StaticRole::BatchNorm},
};

}  // namespace

StaticRole static_role(const Node& node) {
  const auto* found = std::ranges::find(static_ops, node.op().str(), &StaticOp::op);
  if (found == std::end(static_ops) || node.def() == nullptr || !check_call(node)) return StaticRole::None;
  const bool is_turned = found->op == any_convolution && OpCall(node).boolean("transposed");
  return is_turned ? StaticRole::TransposedConvolution : found->role;
}

}  // namespace depute
