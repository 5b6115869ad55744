// Ops of a region of torch.vmap in exported programs, where values have a dimension less than their tensors.
//
//   torch._functorch.predispatch._vmap_increment_nesting(3, "error")
//   %a: f32[4] = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)        %x: f32[3, 4], level 1
//   %s: f32[] = aten.sum.default(%a)
//   %y: f32[3] = torch._functorch.predispatch._remove_batch_dim(%s, 1, 3, 0)
//   torch._functorch.predispatch._vmap_decrement_nesting()
//
// Types in a region are those of one element, as the user's function sees them.
// src/normalize/bodies/unfold_batches.cpp removes the regions.
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Types infer_add_batch_dim(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "in_dim", self));
  Dims sizes = self.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_remove_batch_dim(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("out_dim"), self.rank() + 1));
  Dims sizes = self.sizes;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), as_sym_int(call["batch_size"]));
  return tensor_result(self.dtype, std::move(sizes));
}

}  // namespace

std::span<const OpLine> batch_ops() {
  // The marks of a region stay in order with random ops, whose meaning depends on the region.
  static constexpr OpLine lines[] = {
      {"torch._functorch.predispatch._add_batch_dim(Tensor(a) self, int in_dim, int level) -> Tensor(a)",
       {.flags = View, .infer = infer_add_batch_dim}},
      {"torch._functorch.predispatch._remove_batch_dim(Tensor(a) self, int level, SymInt batch_size, int "
       "out_dim) -> Tensor(a)",
       {.flags = View, .infer = infer_remove_batch_dim}},
      {"torch._functorch.predispatch._vmap_increment_nesting(SymInt batch_size, str randomness) -> ()",
       opaque(Random)},
      {"torch._functorch.predispatch._vmap_decrement_nesting() -> ()", opaque(Random)},
      {"torch._functorch.predispatch.lazy_load_decompositions() -> ()", opaque(Assertion)},
  };
  return lines;
}

}  // namespace depute::internal
