// Copies, which need no node, and conversions between f32 and f16. A row-major copy of an image in
// channels-last order is dropped too: convolutions prefer the image as it is.
#include <algorithm>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

void copy(Emitter& emit, const OpCall& call) {
  emit.result(emit.input(call, "self"));
}

void convert(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const ScalarType dtype = call.node()->result()->tensor().dtype;
  emit.result(dtype == emit.dtype(x) ? x : emit.convert(x, dtype));
}

Check check_dim_order_copy(const NodeQuery& node) {
  const Argument& order = node.call["dim_order"];
  if (order.is_none()) return {};
  const std::vector<std::int64_t> dims = node.call.ints("dim_order");
  return std::ranges::is_sorted(dims) ? Check() : refuse_argument(node, "dim_order", "row-major");
}

constexpr OpRule relabeled(std::string_view op) {
  return {.op = op, .op_class = OpClass::Relabel, .translate = copy};
}

}  // namespace

std::span<const OpRule> copy() {
  static constexpr OpRule rules[] = {
      {.op = "aten._to_copy.default",
       .conditions = "from and to f32 and f16",
       .op_class = OpClass::Move,
       .mixes_dtypes = true,
       .translate = convert},
      relabeled("aten.alias.default"),
      relabeled("aten.clone.default"),
      relabeled("aten.detach.default"),
      relabeled("aten.lift_fresh_copy.default"),
      {.op = "dim_order_ops._to_dim_order_copy.default",
       .conditions = "to row-major order; from and to f32 and f16",
       .op_class = OpClass::Move,
       .mixes_dtypes = true,
       .takes_layouts = true,
       .check = check_dim_order_copy,
       .translate = convert},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
