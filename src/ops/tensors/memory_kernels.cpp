// Kernels of copies and conversions. Constants never change, so a copy returns the tensor itself.
#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Contents same(const KernelCall& call) {
  return one(call.operand(0));
}

Contents convert(const KernelCall& call) {
  TRY(TensorData converted, cast(call, call.operand(0), call.result_type()));
  return one(std::move(converted));
}

Contents copy(const KernelCall& call) {
  TRY(TensorData source, cast(call, call.tensor("src"), call.result_type()));
  Shape sizes = sizes_of(call.tensor("self"));
  TRY(Shape common, broadcast_sizes(sizes, sizes_of(source)));
  if (common != sizes) return bad_arguments("the source does not broadcast to the destination");
  return one(broadcast_to(source, sizes));
}

}  // namespace

std::span<const KernelLine> memory_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.alias.default", same},
      {"aten.detach.default", same},
      {"aten.detach_.default", same},  // no data is written
      {"aten.lift_fresh.default", same},
      {"aten.lift_fresh_copy.default", same},
      {"aten.contiguous.default", same},
      {"aten.clone.default", same},
      {"dim_order_ops._clone_dim_order.default", same},
      {"aten._to_copy.default", convert},
      {"dim_order_ops._to_dim_order_copy.default", convert},
      {"aten.to.dtype", convert},
      {"aten.to.dtype_layout", convert},
      {"aten.to.device", convert},
      {"aten.type_as.default", convert},
      {"aten.copy.default", copy},
  };
  return lines;
}

}  // namespace depute::internal
