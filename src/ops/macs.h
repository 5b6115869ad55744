// Cost of calls: the number of multiply-accumulates (MACs) of product-like ops, as a list of factors. All
// other ops count none, since memory bounds them.
//
//   aten.mm.default(f32[8, 16], f32[16, 4])                 8 * 4 * 16
//   aten.convolution.default(.., f32[32, 3, 3, 3], ..)      result * 3 * 3 * 3
#pragma once

#include "depute/program/op.h"

namespace depute::internal {

inline Dims macs_of_sizes(const TensorType& outer, std::span<const SymInt> inner) {
  Dims factors = outer.sizes;
  for (const SymInt& size : inner) factors.push_back(size);
  return factors;
}

// Each element of the result is a sum over the last dimension of argument `Summed`.
template <std::size_t Summed>
Dims macs_of_product(const OpCall& call) {
  const Value* operand = call[Summed].as_value();
  if (operand == nullptr || !operand->type().is_tensor() || operand->tensor().rank() == 0) return {};
  const Dims& sizes = operand->tensor().sizes;
  return macs_of_sizes(call.node()->result()->tensor(), {&sizes[sizes.size() - 1], 1});
}

// Each element of the result is a sum over a filter; for a transposed convolution, each element of the input
// is multiplied by one.
inline Dims macs_of_convolution(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  const TensorType& counted =
      call.boolean("transposed") ? call.tensor("input") : call.node()->result()->tensor();
  if (weight.rank() == 0) return {};
  return macs_of_sizes(counted, {weight.sizes.data() + 1, weight.rank() - 1});
}

// Each query is multiplied with each key of the cache, and with each value.
inline Dims macs_of_attention(const OpCall& call) {
  const TensorType& key = call.tensor("key");
  if (key.rank() < 2) return {};
  const Dims inner = {key.sizes[1], SymInt(2)};
  return macs_of_sizes(call.tensor("query"), {inner.data(), inner.size()});
}

}  // namespace depute::internal
