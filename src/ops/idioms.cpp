#include "ops/idioms.h"

#include <fmt/format.h>

#include "depute/program/infer.h"

namespace depute::internal {

bool is_half_precision(ScalarType dtype) {
  return dtype == ScalarType::F16 || dtype == ScalarType::BF16;
}

ScalarType compute_type(ScalarType dtype) {
  return is_half_precision(dtype) ? ScalarType::F32 : dtype;
}

Value* to_dtype(Builder& b, Value* x, ScalarType dtype) {
  if (x == nullptr || x->tensor().dtype == dtype) return x;
  return b.call("aten._to_copy.default", {x, dtype});
}

Value* to_compute_type(Builder& b, Value* x) {
  return x == nullptr ? nullptr : to_dtype(b, x, compute_type(x->tensor().dtype));
}
Value* to_compute_type(Builder& b, const Value* x) {
  return to_compute_type(b, b.own(x));
}

Value* range(Builder& b, const SymInt& count, ScalarType dtype) {
  return b.call("aten.arange.start_step", {0, b.size(count), 1, dtype});
}

Value* along(Builder& b, Value* vector, std::size_t dim, std::size_t rank) {
  Dims sizes(rank, SymInt(1));
  sizes[dim] = vector->tensor().numel();
  return b.view(vector, sizes);
}

Value* size_tensor(Builder& b, const SymInt& size, ScalarType dtype) {
  return b.call("aten.scalar_tensor.default", {b.size(size), dtype});
}

Value* reshape(Builder& b, Value* x, const Dims& sizes) {
  return b.view(x, sizes);
}

Dims with_rank(const Dims& sizes, std::size_t rank) {
  Dims result(rank - sizes.size(), SymInt(1));
  result.insert(result.end(), sizes.begin(), sizes.end());
  return result;
}
Value* with_rank(Builder& b, Value* x, std::size_t rank) {
  const bool has_rank = x->tensor().rank() == rank;
  return has_rank ? x : b.view(x, with_rank(x->tensor().sizes, rank));
}

Value* one_longer(Builder& b, Value* x, std::size_t dim, double value) {
  Dims sizes = x->tensor().sizes;
  sizes[dim] = 1;
  Value* last = b.call("aten.full.default", {sizes, value, x->tensor().dtype});
  return b.call("aten.cat.default", {std::vector<Value*>{x, last}, static_cast<std::int64_t>(dim)});
}

Value* positive_part(Builder& b, Value* x) {
  return b.call("aten.clamp.default", {x, 0});
}

Value* zero_unless(Builder& b, Value* condition, Value* x) {
  return b.call("aten.where.self", {condition, x, 0});
}

Status check_indices(const OpCall& call) {
  std::size_t dims = 0;
  for (const Value* index : call.values("indices")) {
    const ScalarType type = index == nullptr ? ScalarType::I64 : index->tensor().dtype;
    const bool is_mask = type == ScalarType::Bool || type == ScalarType::U8;
    if (!is_mask && type != ScalarType::I64 && type != ScalarType::I32)
      return argument_error(fmt::format("an index must be i64, i32, u8 or bool, got {}", name(type)));
    dims += is_mask ? index->tensor().rank() : 1;
  }
  if (dims <= call.tensor("self").rank()) return {};
  return argument_error("more indices than the tensor has dimensions");
}

Value* rotated(Builder& b, Value* x, std::size_t dim, const SymInt& start) {
  const SymInt size = x->tensor().sizes[dim];
  if (start == 0 || start == size) return x;
  const auto axis = static_cast<std::int64_t>(dim);
  Value* front = b.call("aten.slice.Tensor", {x, axis, b.size(start), b.size(size)});
  Value* back = b.call("aten.slice.Tensor", {x, axis, 0, b.size(start)});
  return b.call("aten.cat.default", {std::vector<Value*>{front, back}, axis});
}

}  // namespace depute::internal
