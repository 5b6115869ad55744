// The distinct elements of a tensor; their number depends on data.
//
//   aten._unique2.default(x)   ->   s = sort(x)                  [1, 1, 2, 3, 3, 9]
//                                   is_first                     [1, 0, 1, 1, 0, 1]
//                                   at = nonzero(is_first)       [0, 2, 3, 5]
//                                   values = s[at]               [1, 2, 3, 9]
//                                   counts = diff(at)            [2, 1, 2, 1]
//                                   cumsum(is_first) - 1         the inverse, once it is in the order of x
#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// The sizes are taken from the file.
Types infer_unique(const OpCall& call) {
  if (call.node() == nullptr) return type_error("the number of unique elements is unknown");
  const Value* first = call.node()->result(0);
  if (!first->type().is_tensor() || first->tensor().rank() != 1)
    return argument_error("the unique elements must have rank 1");
  std::vector<Type> types;
  for (const Value* result : call.node()->results()) {
    const bool is_first = types.empty();
    if (!result->type().is_tensor()) {
      types.push_back(result->type());
      continue;
    }
    const ScalarType dtype = is_first ? call.tensor("self").dtype : ScalarType::I64;
    types.push_back(tensor_type({.dtype = dtype, .sizes = result->tensor().sizes}));
  }
  return types;
}

// For a vector with equal elements next to each other: the start of each group, as [u] and as a mask.
struct Groups {
  Value* starts = nullptr;
  Term is_first;
};
Groups groups_of(Builder& b, Value* line, const SymInt& size, const SymInt& count) {
  const Term later(b, b.call("aten.slice.Tensor", {line, 0, 1}));
  const Term earlier(b, b.call("aten.slice.Tensor", {line, 0, 0, b.size(size - 1)}));
  const Term changes = later != earlier;
  Value* first = b.call("aten.full.default", {Dims{1}, true, ScalarType::Bool});
  const Term is_first(b, b.call("aten.cat.default", {std::vector<Value*>{first, changes.value()}, 0}));
  Value* places = b.call("aten.nonzero.default", {is_first.value()});
  if (places != nullptr)
    b.graph().set_type(*places, tensor_type({.dtype = ScalarType::I64, .sizes = {count, 1}}));
  return {b.call("aten.select.int", {places, 1, 0}), is_first};
}

// Builds the results for a vector `line` that holds x[order[i]] at i, or x itself if order is null.
Replacement unique_of(Builder& b, const OpCall& call, Value* line, Value* order) {
  const Dims& own = call.tensor("self").sizes;
  const SymInt size = product(own);
  if (size.is_constant() && size.value() == 0)
    return type_error("unique of an empty tensor is not supported");
  const SymInt count = call.node()->result(0)->tensor().sizes[0];
  const Groups groups = groups_of(b, line, size, count);
  Value* values = b.call("aten.index.Tensor", {line, std::vector<Value*>{groups.starts}});
  Value* inverse = nullptr;
  if (call.boolean("return_inverse")) {
    const Term rank = groups.is_first.to(ScalarType::I64).call("aten.cumsum.default", {0}) - 1;
    inverse = rank.value();
    if (order != nullptr)
      inverse = b.call("aten.index_put.default", {inverse, std::vector<Value*>{order}, rank.value()});
    inverse = reshape(b, inverse, own);
  }
  Value* counts = nullptr;
  if (call.boolean("return_counts")) {
    Value* end = reshape(b, size_tensor(b, size, ScalarType::I64), {1});
    const Term bounds(b, b.call("aten.cat.default", {std::vector<Value*>{groups.starts, end}, 0}));
    Value* ends = b.call("aten.slice.Tensor", {bounds.value(), 0, 1});
    counts = b.call("aten.sub.Tensor", {ends, groups.starts});
  }
  return std::vector<Value*>{values, inverse, counts};
}

Replacement unique(Builder& b, const OpCall& call) {
  Value* flat = reshape(b, b.own(call.value("self")), {product(call.tensor("self").sizes)});
  const bool is_bool = flat != nullptr && flat->tensor().dtype == ScalarType::Bool;
  const std::vector<Value*> sorted =
      b.call_all("aten.sort.default", {is_bool ? to_dtype(b, flat, ScalarType::U8) : flat});
  return unique_of(b, call, is_bool ? to_dtype(b, sorted[0], ScalarType::Bool) : sorted[0], sorted[1]);
}

Replacement unique_consecutive(Builder& b, const OpCall& call) {
  if (!call["dim"].is_none()) return type_error("unique_consecutive along a dimension is not supported");
  Value* flat = reshape(b, b.own(call.value("self")), {product(call.tensor("self").sizes)});
  return unique_of(b, call, flat, nullptr);
}

}  // namespace

std::span<const OpLine> unique_ops() {
  static constexpr OpLine lines[] = {
      {"aten._unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
       "(Tensor, Tensor, Tensor)",
       choosing("self", composite(infer_unique, unique))},
      {"aten.unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? "
       "dim=None) -> (Tensor, Tensor, Tensor)",
       choosing("self", composite(infer_unique, unique_consecutive))},
  };
  return lines;
}

}  // namespace depute::internal
