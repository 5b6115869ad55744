// Writes a linear layer like ExecuTorch's Edge dialect, in torch's decomposition.
//
//   %y = aten.linear.default(%x, %w, %b)     ->     %t = aten.permute.default(%w, [1, 0])
//                                                   %y = aten.addmm.default(%b, %x, %t)
//
// Inputs with more dimensions are viewed as rows first.
#include "ops/edge_forms.h"

#include "depute/program/builder.h"
#include "ops/idioms.h"

namespace depute {
namespace {

Replacement permute_and_product(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("input"));
  const Dims sizes = x->tensor().sizes;
  const Dims weight = call.tensor("weight").sizes;
  SymInt rows = product({sizes.data(), sizes.size() - 1});
  Value* matrix = b.view(x, {rows, weight[1]});
  Value* transposed = b.call("aten.permute.default", {call["weight"], std::vector<std::int64_t>{1, 0}});
  Value* result = call["bias"].is_none() ? b.call("aten.mm.default", {matrix, transposed})
                                         : b.call("aten.addmm.default", {call["bias"], matrix, transposed});
  Dims wanted = sizes;
  wanted.back() = weight[0];
  return std::vector<Value*>{b.view(result, wanted)};
}

}  // namespace

DecomposeFunction edge_form(Name op) {
  return op == "aten.linear.default" ? permute_and_product : nullptr;
}

}  // namespace depute
