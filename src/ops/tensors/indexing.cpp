// Reading and writing elements by index, sorting, embeddings.
#include <algorithm>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/shared_rules.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- x[i, :, j]: index sizes replace the indexed dimensions, or come first if those are not adjacent

bool is_mask(const Value* index) {
  return index != nullptr &&
         (index->tensor().dtype == ScalarType::Bool || index->tensor().dtype == ScalarType::U8);
}

// The number of elements that masks select depends on data: the file gives it as a symbol.
Types infer_index_by_masks(const OpCall& call) {
  if (call.node() == nullptr || !call.node()->result()->type().is_tensor())
    return type_error("the result of indexing with a mask has a data-dependent size");
  return tensor_result(call.tensor("self").dtype, call.node()->result()->tensor().sizes);
}

Types infer_index(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(check_indices(call));
  std::vector<const Value*> indices = call.values("indices");
  if (std::ranges::any_of(indices, is_mask)) return infer_index_by_masks(call);
  indices.resize(self.rank());
  Dims shape;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr) continue;
    TRY(shape, broadcast(shape, indices[i]->tensor().sizes));
    places.push_back(i);
  }
  if (places.empty()) return tensor_result(self.dtype, self.sizes);
  bool is_together = places.back() - places.front() + 1 == places.size();
  std::size_t front = is_together ? places.front() : 0;
  Dims sizes;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (sizes.size() == front && i == (is_together ? places.front() : 0)) {
      sizes.insert(sizes.end(), shape.begin(), shape.end());
    }
    if (indices[i] == nullptr) sizes.push_back(self.sizes[i]);
  }
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_index_put(const OpCall& call) {
  TRY_STATUS(check_indices(call));
  return infer_same_type(call);
}

// Returns the rank of the elements that the indices select: one dimension for a mask.
std::size_t selected_rank(const OpCall& call) {
  std::size_t indexed = 0, rank = 0;
  for (const Value* index : call.values("indices")) {
    const std::size_t own = index == nullptr ? 0 : index->tensor().rank();
    indexed += index == nullptr ? 0 : is_mask(index) ? own : 1;
    if (index != nullptr) rank = std::max(rank, is_mask(index) ? 1 : own);
  }
  return rank + call.tensor("self").rank() - indexed;
}
// The kernel takes values of self's type, without leading sizes of 1.
Replacement put_in_type(Builder& b, const OpCall& call) {
  const TensorType& given = call.tensor("values");
  const std::size_t rank = selected_rank(call);
  if (given.dtype == call.tensor("self").dtype && given.rank() <= rank) return std::vector<Value*>{};
  Value* values = to_dtype(b, b.own(call.value("values")), call.tensor("self").dtype);
  if (given.rank() > rank)
    values = reshape(b, values, {given.sizes.end() - static_cast<std::ptrdiff_t>(rank), given.sizes.end()});
  return one(b.call("aten.index_put.default", {call["self"], call["indices"], values, call["accumulate"]}));
}

// Replaces a mask by the indices of its true elements, one tensor per dimension.
Replacement index_by_masks(Builder& b, const OpCall& call) {
  const std::vector<const Value*> given = call.values("indices");
  const auto masks = std::ranges::count_if(given, is_mask);
  if (masks == 0) return std::vector<Value*>{};
  if (masks > 1) return type_error("indexing with several masks is not supported");
  const Dims& sizes = call.node()->result()->tensor().sizes;
  const auto at = static_cast<std::size_t>(std::ranges::find_if(given, is_mask) - given.begin());
  const bool is_alone = std::ranges::all_of(given, [](const Value* i) { return i == nullptr || is_mask(i); });
  if (!is_alone || at >= sizes.size()) return type_error("indexing with a mask and indices is not supported");
  const Value* mask = given[at];
  const auto rank = static_cast<std::int64_t>(mask->tensor().rank());
  if (rank == 0) return type_error("indexing with a mask of rank 0 is not supported");
  Value* places = b.call("aten.nonzero.default", {mask});
  b.graph().set_type(*places, tensor_type({.dtype = ScalarType::I64, .sizes = {sizes[at], rank}}));
  std::vector<Value*> indices(at, nullptr);
  for (std::int64_t i = 0; i < rank; ++i) indices.push_back(b.call("aten.select.int", {places, 1, i}));
  return one(b.call("aten.index.Tensor", {call["self"], indices}));
}

Types infer_index_select(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  Dims sizes = self.sizes;
  if (!sizes.empty()) sizes[dim] = call.tensor("index").numel();
  return tensor_result(self.dtype, std::move(sizes));
}

// Writes index_copy and index_add as index_put along the dimension. A 0-d index is a list of one.
Replacement put_along(Builder& b, const OpCall& call, Value* source, bool accumulate) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  Value *x = b.own(call.value("self")), *index = b.own(call.value("index"));
  if (self.rank() == 0) {
    x = b.view(x, {1});
    source = b.view(source, {source->tensor().numel()});
    index = b.view(index, {index->tensor().numel()});
  }
  std::vector<Value*> indices(dim, nullptr);
  indices.push_back(index);
  Value* written = b.call("aten.index_put.default", {x, indices, source, accumulate});
  return one(reshape(b, written, self.sizes));
}
// True if the runtime's in-place kernel for writing along a dimension supports the call: whole slices of the
// same type, one per index.
bool is_plain_index_copy(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  const TensorType& source = call.tensor("source");
  const TensorType& index = call.tensor("index");
  auto dim = wrap_dim(call.integer("dim"), self.rank());
  if (!dim || self.rank() == 0 || index.rank() != 1 || source.dtype != self.dtype) return false;
  if (index.dtype != ScalarType::I64 && index.dtype != ScalarType::I32) return false;
  TensorType written = self;
  written.sizes[*dim] = index.sizes[0];
  return source.sizes == written.sizes;
}
Replacement index_copy(Builder& b, const OpCall& call) {
  if (call.tensor("self").rank() == 0) return with_dimension(b, call);
  if (call.tensor("self").numel() == 0) return one(b.call("aten.alias.default", {call["self"]}));
  if (is_plain_index_copy(call)) return std::vector<Value*>{};
  return put_along(b, call, b.own(call.value("source")), false);
}
Replacement index_add(Builder& b, const OpCall& call) {
  if (call.tensor("self").rank() == 0) return with_dimension(b, call);
  Value* source = b.own(call.value("source"));
  const Argument& alpha = call["alpha"];
  bool is_plain = alpha.is_number() && alpha.as_double() == 1;
  const ScalarType dtype = source->tensor().dtype;
  if (!is_plain) source = to_dtype(b, source, dtype);
  if (!is_plain)
    source = b.call("aten.mul.Tensor", {source, b.call("aten.scalar_tensor.default", {alpha, dtype})});
  return put_along(b, call, source, true);
}

// --- embedding: arguments for training are dropped

Types infer_embedding(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() != 2) return argument_error("an embedding's weight must have rank 2");
  Dims sizes = call.tensor("indices").sizes;
  sizes.push_back(weight.sizes[1]);
  return tensor_result(weight.dtype, std::move(sizes));
}
Replacement embedding(Builder& b, const OpCall& call) {
  const Argument& padding = call["padding_idx"];
  bool is_plain = padding.is_int() && padding.as_int() == -1 && !call.boolean("scale_grad_by_freq") &&
                  !call.boolean("sparse");
  if (is_plain) return embedding_of_blocks(b, call);
  return one(b.call("aten.embedding.default", {call["weight"], call["indices"]}));
}

// --- order

Types infer_topk(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  Dims sizes = self.sizes;
  if (!sizes.empty()) sizes[dim] = as_sym_int(call["k"]);
  return std::vector<Type>{tensor_type({.dtype = self.dtype, .sizes = sizes}),
                           tensor_type({.dtype = ScalarType::I64, .sizes = sizes})};
}

// The kernels cut a float that they write as a bool to an integer first.
Replacement scatter_in_type(Builder& b, const OpCall& call) {
  const ScalarType dtype = call.tensor("self").dtype;
  if (call.tensor("src").dtype == dtype) return std::vector<Value*>{};
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  args[1] = to_dtype(b, b.own(call.value("src")), dtype);
  return one(b.call(call.def().name.str(), args));
}
// Returns the source if it overwrites the whole tensor.
Replacement slice_scatter(Builder& b, const OpCall& call) {
  if (call.tensor("src") == call.tensor("self")) return one(b.own(call.value("src")));
  return scatter_in_type(b, call);
}

// Self and the mask are broadcast together.
Types infer_masked_scatter(const OpCall& call) {
  TRY(Dims sizes, broadcast(call.tensor("self").sizes, call.tensor("mask").sizes));
  return tensor_result(call.tensor("self").dtype, std::move(sizes));
}
Replacement masked_scatter(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_masked_scatter(call));
  const Dims& sizes = types[0].tensor.sizes;
  if (call.tensor("self").sizes == sizes) return std::vector<Value*>{};
  Value* wide = b.call("aten.expand.default", {call["self"], sizes});
  return one(b.call("aten.masked_scatter.default", {wide, call["mask"], call["source"]}));
}

}  // namespace

std::span<const OpLine> indexing_ops() {
  static constexpr OpLine lines[] = {
      {"aten.index.Tensor(Tensor self, Tensor?[] indices)",
       on_complex(each_part, {.flags = Core,
                              .out = "index.Tensor_out",
                              .infer = infer_index,
                              .decompose = index_by_masks,
                              .data_dependent_size = "indices",
                              .chosen_by = "indices"})},
      {"aten.index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
       on_complex(each_part, fitted(put_in_type, kernel("index_put.out", infer_index_put,
                                                        InPlaceVariant | MayAliasOperand)))},
      {"aten.index_select(Tensor self, int dim, Tensor index)",
       on_complex(each_part, kernel("index_select.out", infer_index_select))},
      {"aten.index_copy(Tensor self, int dim, Tensor index, Tensor source)",
       in_autocast(AutocastPromote, on_complex(each_part, composite(infer_same_type, index_copy,
                                                                    InPlaceVariant | MayAliasOperand)))},
      {"aten.index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
       composite(infer_same_type, index_add, InPlaceVariant)},
      {"aten.slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
       "step=1)",
       row_by_row(on_complex(each_part, {.flags = Core | MayAliasOperand | CopiesLayout,
                                         .out = "slice_scatter.out",
                                         .infer = infer_same_type,
                                         .decompose = slice_scatter}))},
      {"aten.select_scatter(Tensor self, Tensor src, int dim, SymInt index)",
       row_by_row(on_complex(each_part, fitted(scatter_in_type, kernel("select_scatter.out", infer_same_type,
                                                                       MayAliasOperand | CopiesLayout))))},
      {"aten.masked_scatter(Tensor self, Tensor mask, Tensor source)",
       on_complex(each_part, {.flags = Core | InPlaceVariant,
                              .out = "masked_scatter.out",
                              .infer = infer_masked_scatter,
                              .decompose = masked_scatter})},
      {"aten.masked_select(Tensor self, Tensor mask)",
       choosing("self", fitted(select_broadcast, opaque(Core, "masked_select.out")), "mask")},
      {"aten.embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
       "bool sparse=False)",
       {.flags = Core, .out = "embedding.out", .infer = infer_embedding, .decompose = embedding}},
      {"aten.topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, "
       "Tensor indices)",
       row_by_row(kernel("topk.values", infer_topk))},
  };
  return lines;
}

}  // namespace depute::internal
