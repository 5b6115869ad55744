// Windows of pooling ops, and the sizes that follow from them.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program/infer.h"
#include "depute/program/op.h"

namespace depute::internal {

// Each list has one number per pooled dimension.
struct PoolWindow {
  std::vector<std::int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

Result<PoolWindow> read_pool_window(const OpCall& call, std::size_t count, bool has_dilation);
// Returns the result sizes of pooling over the last dimensions.
Result<Dims> pooled_sizes(const TensorType& self, const PoolWindow& window);

template <std::size_t count>
Types infer_avg_pool(const OpCall& call) {
  DEPUTE_TRY(PoolWindow w, read_pool_window(call, count, false));
  DEPUTE_TRY(Dims sizes, pooled_sizes(call.tensor("self"), w));
  return tensor_result(call.tensor("self").dtype, std::move(sizes));
}

template <std::size_t count>
Types infer_max_pool(const OpCall& call) {
  DEPUTE_TRY(PoolWindow w, read_pool_window(call, count, true));
  DEPUTE_TRY(Dims sizes, pooled_sizes(call.tensor("self"), w));
  return tensor_result(call.tensor("self").dtype, std::move(sizes));
}

// Adds the type of the indices to the type of the values.
inline Types with_indices(Types types) {
  if (!types) return types;
  types->push_back((*types)[0]);
  (*types)[1].tensor.dtype = ScalarType::I64;
  return types;
}
template <std::size_t count>
Types infer_max_pool_with_indices(const OpCall& call) {
  return with_indices(infer_max_pool<count>(call));
}

// Requires one number per dimension: unlike for windows, torch and the runtime's kernels reject a single
// number.
Result<Dims> read_output_size(const OpCall& call, std::size_t count);
Types infer_adaptive_of(const OpCall& call, std::size_t count);

template <std::size_t count>
Types infer_adaptive(const OpCall& call) {
  return infer_adaptive_of(call, count);
}
template <std::size_t count>
Types infer_adaptive_pair(const OpCall& call) {
  return with_indices(infer_adaptive_of(call, count));
}

}  // namespace depute::internal
