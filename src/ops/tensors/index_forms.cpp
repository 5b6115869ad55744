// Rewrites variants of indexing as the ops of indexing.cpp: index, gather, and index_put on the tensor or on
// its flattened elements.
//
//   aten.take.default(f32[2, 3], i64[4])                  ->   view [6], index
//   aten.index_fill.int_Scalar(f32[2, 3], 1, i64[2], 5)   ->   index_put(x, [None, index], 5)
//   aten.nonzero_static.default(x, size=4)                ->   cumsum of x != 0, index_put of the positions
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Value* flat(Builder& b, Value* x) {
  return b.view(x, {x->tensor().numel()});
}

// --- reading

Replacement take(Builder& b, const OpCall& call) {
  Value* elements = flat(b, b.own(call.value("self")));
  return one(b.call("aten.index.Tensor", {elements, std::vector<Value*>{b.own(call.value("index"))}}));
}

// Sizes of self and of indices, broadcast in all dimensions but `dim`.
struct Aligned {
  std::size_t dim = 0;
  Dims self, indices;
};
Result<Aligned> align(const OpCall& call) {
  Aligned aligned{.self = call.tensor("self").sizes, .indices = call.tensor("indices").sizes};
  if (aligned.self.size() != aligned.indices.size())
    return argument_error("take_along_dim requires operands of the same rank");
  TRY(aligned.dim, dim_of(call, "dim", call.tensor("self")));
  SymInt own = aligned.self[aligned.dim], read = aligned.indices[aligned.dim];
  aligned.self[aligned.dim] = aligned.indices[aligned.dim] = 1;
  TRY(Dims sizes, broadcast(aligned.self, aligned.indices));
  aligned.self = aligned.indices = sizes;
  aligned.self[aligned.dim] = own;
  aligned.indices[aligned.dim] = read;
  return aligned;
}
Types infer_take_along_dim(const OpCall& call) {
  ScalarType dtype = call.tensor("self").dtype;
  if (call["dim"].is_none()) return tensor_result(dtype, {call.tensor("indices").numel()});
  TRY(Aligned aligned, align(call));
  return tensor_result(dtype, aligned.indices);
}
// Indices count in circles: of three elements, -1, 2 and 5 are the last.
Value* wrapped(Builder& b, Value* indices, const SymInt& size) {
  if (size == 0) return indices;
  const Argument divisor = b.size(size);
  if (divisor.is_int()) return b.call("aten.remainder.Scalar", {indices, divisor});
  return b.call("aten.remainder.Tensor", {indices, size_tensor(b, size, ScalarType::I64)});
}
Replacement take_along_dim(Builder& b, const OpCall& call) {
  Value *x = b.own(call.value("self")), *indices = b.own(call.value("indices"));
  if (call["dim"].is_none()) {
    x = flat(b, x);
    return one(b.call("aten.gather.default", {x, 0, flat(b, wrapped(b, indices, x->tensor().sizes[0]))}));
  }
  TRY(Aligned aligned, align(call));
  indices = wrapped(b, indices, aligned.self[aligned.dim]);
  if (x->tensor().sizes != aligned.self) x = b.call("aten.expand.default", {x, aligned.self});
  if (indices->tensor().sizes != aligned.indices) {
    indices = b.call("aten.expand.default", {indices, aligned.indices});
  }
  return one(b.call("aten.gather.default", {x, static_cast<std::int64_t>(aligned.dim), indices}));
}

Types infer_unsafe_index(const OpCall& call) {
  std::vector<Argument> args{call["self"], call["indices"]};
  static const OpDef& index = *torch_ops()->find(Name("aten.index.Tensor"));
  return index.infer(OpCall(index, args, {}, call.node()));
}
Types infer_unsafe_index_put(const OpCall& call) {
  TRY_STATUS(check_indices(call));
  return infer_same_type(call);
}

// Clamps indices: masked-out ones may be out of range.
std::vector<Value*> clamped_indices(Builder& b, const OpCall& call) {
  std::vector<Value*> indices;
  const TensorType& self = call.tensor("self");
  for (Value* index : b.own(call.values("indices"))) {
    if (indices.size() == self.rank()) {  // 0-d masks index no dimension
      b.fail(type_error("more indices than the tensor has dimensions").error());
      return {};
    }
    SymInt size = self.sizes[indices.size()];
    SymInt lowest = SymInt{} - size;  // negative ones count from the end
    indices.push_back(
        index == nullptr ? nullptr : b.call("aten.clamp.default", {index, b.size(lowest), b.size(size - 1)}));
  }
  return indices;
}
Replacement masked_index(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_unsafe_index(call));
  if (call.tensor("self").static_numel() == 0) {
    return one(b.call("aten.full.default", {types[0].tensor.sizes, call["fill"], types[0].tensor.dtype}));
  }
  Value* read = b.call("aten.index.Tensor", {call["self"], clamped_indices(b, call)});
  Value* is_out = b.call("aten.logical_not.default", {call["mask"]});
  return one(b.call("aten.masked_fill.Scalar", {read, is_out, call["fill"]}));
}
Replacement masked_index_put(Builder& b, const OpCall& call) {
  if (call.tensor("self").static_numel() == 0) return one(b.call("aten.alias.default", {call["self"]}));
  Value* is_out = b.call("aten.logical_not.default", {call["mask"]});
  Value* values = b.call("aten.masked_fill.Scalar", {call["values"], is_out, 0});
  return one(b.call("aten.index_put.default", {call["self"], clamped_indices(b, call), values, true}));
}

// --- writing

Replacement put(Builder& b, const OpCall& call) {
  Value* elements = flat(b, b.own(call.value("self")));
  Value *index = flat(b, b.own(call.value("index"))), *source = flat(b, b.own(call.value("source")));
  Value* written =
      b.call("aten.index_put.default", {elements, std::vector<Value*>{index}, source, call["accumulate"]});
  return one(reshape(b, written, call.tensor("self").sizes));
}

// Writes one value at all indices along a dimension.
Replacement index_fill(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  Value* x = b.own(call.value("self"));
  if (self.rank() == 0) x = b.view(x, {1});
  Value* value = call["value"].is_value() && call["value"].as_value()->type().is_tensor()
                     ? b.call("aten._to_copy.default", {call["value"], self.dtype})
                     : b.call("aten.full.default", {Dims{}, call["value"], self.dtype});
  std::vector<Value*> indices(dim, nullptr);
  indices.push_back(flat(b, b.own(call.value("index"))));
  return one(reshape(b, b.call("aten.index_put.default", {x, indices, value}), self.sizes));
}

// True if no two positions share an element, or if that is known only at run time.
bool may_lie_apart(const Dims& sizes, const Dims& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, size
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is_constant() || !strides[i].is_constant()) return true;
    if (sizes[i].value() == 0) return true;
    if (sizes[i].value() > 1) steps.emplace_back(strides[i].value(), sizes[i].value());
  }
  std::ranges::sort(steps);
  std::int64_t reach = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return false;
    if (stride > std::numeric_limits<std::int64_t>::max() / size - reach) return true;  // beyond any memory
    reach += stride * (size - 1);
  }
  return true;
}

// Writes to the elements that sizes and strides select in a contiguous tensor.
Replacement as_strided_scatter(Builder& b, const OpCall& call) {
  Dims sizes = as_dims(call["size"]), strides = as_dims(call["stride"]);
  if (sizes.size() != strides.size())
    return argument_error("as_strided_scatter requires as many strides as sizes");
  if (!may_lie_apart(sizes, strides))
    return argument_error("as_strided_scatter to overlapping elements is undefined in torch");
  SymInt first = call["storage_offset"].is_none() ? SymInt{} : as_sym_int(call["storage_offset"]);
  Value* index = b.call("aten.full.default", {Dims(sizes.size(), SymInt(1)), b.size(first), ScalarType::I64});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Value* line = b.call("aten.mul.Scalar",
                         {b.call("aten.arange.start_step", {0, b.size(sizes[i])}), b.size(strides[i])});
    Dims spread(sizes.size(), SymInt(1));
    spread[i] = sizes[i];
    index = b.call("aten.add.Tensor", {index, reshape(b, line, spread)});
  }
  Value* elements = flat(b, b.own(call.value("self")));
  Value* source = flat(b, b.own(call.value("src")));
  Value* written = b.call("aten.index_put.default", {elements, std::vector<Value*>{flat(b, index)}, source});
  return one(reshape(b, written, call.tensor("self").sizes));
}

// --- positions of nonzero elements

Types infer_nonzero(const OpCall& call) {
  auto rank = static_cast<std::int64_t>(call.tensor("self").rank());
  SymInt count = SymInt::symbol("nonzero");
  const Type* declared = call.node() == nullptr ? nullptr : &call.node()->result()->type();
  if (declared != nullptr && declared->is_tensor() && declared->tensor.rank() == 2)
    count = declared->tensor.sizes[0];
  return tensor_result(ScalarType::I64, {count, rank});
}
Replacement argwhere(Builder& b, const OpCall& call) {
  Value* indices = b.call("aten.nonzero.default", call.args());
  b.graph().set_type(*indices, call.node()->result()->type());
  return one(indices);
}

// Returns one index tensor per dimension.
Types infer_nonzero_numpy(const OpCall& call) {
  if (call.node() == nullptr) return type_error("the number of nonzero elements is unknown");
  const std::span<const Value* const> results = call.node()->results();
  const std::size_t rank = std::max<std::size_t>(call[0].as_value()->tensor().rank(), 1);
  const bool fit = results.size() == rank && std::ranges::all_of(results, [](const Value* result) {
                     return result->type().is_tensor() && result->tensor().rank() == 1;
                   });
  if (!fit) return argument_error(fmt::format("expected {} results of rank 1", rank));
  std::vector<Type> types;
  for (const Value* result : results) {
    types.push_back(tensor_type({.dtype = ScalarType::I64, .sizes = result->tensor().sizes}));
  }
  return types;
}
Replacement nonzero_numpy(Builder& b, const OpCall& call) {
  Value* x = b.own(call[0].as_value());
  if (x->tensor().rank() == 0) x = b.view(x, {1});
  Value* indices = b.call("aten.nonzero.default", {x});
  auto rank = static_cast<std::int64_t>(x->tensor().rank());
  SymInt count = call.node()->result()->tensor().sizes[0];
  b.graph().set_type(*indices, tensor_type({.dtype = ScalarType::I64, .sizes = {count, rank}}));
  std::vector<Value*> results;
  for (std::int64_t i = 0; i < rank; ++i) results.push_back(b.call("aten.select.int", {indices, 1, i}));
  return results;
}

Types infer_nonzero_static(const OpCall& call) {
  auto rank = static_cast<std::int64_t>(call.tensor("self").rank());
  return tensor_result(ScalarType::I64, {as_sym_int(call["size"]), rank});
}
// Writes each nonzero element's position at its rank among them. The others are written to an extra position
// after the last, which is removed.
Replacement nonzero_static(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::vector<Type> types, infer_nonzero_static(call));
  const Dims& sizes = types[0].tensor.sizes;
  const SymInt& size = sizes[0];
  if (!size.is_constant() || size.value() < 0) return type_error("nonzero_static requires a constant size");
  if (self.rank() == 0 || self.static_numel() == 0 || size == 0) {
    return one(b.call("aten.full.default", {sizes, call["fill_value"], ScalarType::I64}));
  }
  Value* elements = flat(b, b.own(call.value("self")));
  Value* is_set = b.call("aten.ne.Scalar", {elements, 0});
  Value* place = b.call("aten.sub.Scalar", {b.call("aten.cumsum.default", {is_set, 0}), 1});
  place = b.call("aten.where.ScalarOther", {is_set, place, size.value()});
  place = b.call("aten.clamp.default", {place, 0, size.value()});
  Value* number = b.call("aten.arange.start_step", {0, b.size(self.numel())});
  Value* found = b.call("aten.full.default", {Dims{size + 1}, -1, ScalarType::I64});
  found = b.call("aten.index_put.default", {found, std::vector<Value*>{place}, number});
  found = b.call("aten.slice.Tensor", {found, 0, 0, size.value()});
  Value* is_none = b.call("aten.lt.Scalar", {found, 0});
  std::vector<Value*> columns(self.rank(), nullptr);
  for (std::size_t i = self.rank(); i-- > 0;) {
    Argument length = b.size(self.sizes[i]);
    Value* index = i == 0 ? found : b.call("aten.remainder.Scalar", {found, length});
    index = b.call("aten.where.ScalarSelf", {is_none, call["fill_value"], index});
    columns[i] = b.call("aten.unsqueeze.default", {index, 1});
    if (i > 0) found = b.call("aten.div.Scalar_mode", {found, length, "floor"});
  }
  return one(b.call("aten.cat.default", {columns, 1}));
}

}  // namespace

std::span<const OpLine> index_form_ops() {
  static constexpr OpLine lines[] = {
      {"aten.take(Tensor self, Tensor index)", derived(take)},
      {"aten.take_along_dim(Tensor self, Tensor indices, int? dim=None)",
       composite(infer_take_along_dim, take_along_dim)},
      {"aten._unsafe_index.Tensor(Tensor self, Tensor?[] indices)",
       composite(infer_unsafe_index, text<"index.Tensor(self, indices)">)},
      {"aten._unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
       composite(infer_unsafe_index_put, text<"index_put(self, indices, values, accumulate)">)},
      {"aten._unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill)",
       composite(infer_unsafe_index, masked_index)},
      {"aten._unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values)",
       composite(infer_unsafe_index_put, masked_index_put)},
      {"aten.put(Tensor self, Tensor index, Tensor source, bool accumulate=False)",
       composite(infer_same_type, put, InPlaceVariant)},
      {"aten.index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value)",
       composite(infer_same_type, index_fill, InPlaceVariant)},
      {"aten.index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value)",
       composite(infer_same_type, index_fill, InPlaceVariant)},
      {"aten.as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? "
       "storage_offset=None)",
       composite(infer_same_type, as_strided_scatter, ReadsLayout)},
      {"aten.nonzero(Tensor self)",
       on_complex(of_truth, choosing("self", kernel("nonzero.out", infer_nonzero), "self"))},
      {"aten.argwhere(Tensor self)", choosing("self", composite(infer_nonzero, argwhere), "self")},
      {"aten.nonzero_numpy(Tensor self) -> Tensor[]",
       choosing("self", composite(infer_nonzero_numpy, nonzero_numpy), "self")},
      {"aten.where(Tensor condition) -> Tensor[]",
       choosing("condition", composite(infer_nonzero_numpy, nonzero_numpy), "condition")},
      {"aten.nonzero_static(Tensor self, *, SymInt size, int fill_value=-1)",
       composite(infer_nonzero_static, nonzero_static)},
  };
  return lines;
}

}  // namespace depute::internal
