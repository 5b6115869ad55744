// Views: ops whose result is another view of their argument's elements. Torch's many variants become a few
// ops:
//
//   reshape, flatten, unflatten, view_as, ...   ->  aten.view.default
//   transpose, t, movedim, numpy_T, ...         ->  aten.permute.default
//   chunk, split, narrow, unbind                ->  split_with_sizes, slice, select
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "depute/program/builder.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- changing sizes

Types infer_view_as(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, call.tensor("other").sizes);
}

Types infer_flatten(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t start, wrap_dim(call.integer("start_dim"), self.rank()));
  TRY(std::size_t end, wrap_dim(call.integer("end_dim"), self.rank()));
  if (start > end) return argument_error("flatten: start_dim is after end_dim");
  if (self.rank() == 0) return tensor_result(self.dtype, {1});
  Dims sizes(self.sizes.begin(), self.sizes.begin() + static_cast<std::ptrdiff_t>(start));
  sizes.push_back(product(std::span(self.sizes.data() + start, end - start + 1)));
  sizes.insert(sizes.end(), self.sizes.begin() + static_cast<std::ptrdiff_t>(end) + 1, self.sizes.end());
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_flat(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, {call.tensor("self").numel()});
}

Types infer_unflatten(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  TRY(Dims parts, view_sizes({self.sizes[dim]}, as_dims(call["sizes"])));
  Dims sizes = self.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), parts.begin(), parts.end());
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_view(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(Dims sizes, view_sizes(self.sizes, as_dims(call[1])));
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_unsqueeze(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), self.rank() + 1));
  Dims sizes = self.sizes;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), SymInt(1));
  return tensor_result(self.dtype, std::move(sizes));
}

// Returns the dimensions that a squeeze removes: the named ones of size 1.
Result<std::vector<std::size_t>> squeezed_dims(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  bool names = call.args().size() > 1;
  if (names && call[1].is_list() && call[1].as_list().empty()) return std::vector<std::size_t>{};
  TRY(std::vector<std::size_t> dims, wrap_dims(names ? call[1] : Argument::none(), self.rank()));
  std::erase_if(dims, [&](std::size_t dim) { return dim >= self.rank() || self.sizes[dim] != 1; });
  return dims;
}
Types infer_squeeze(const OpCall& call) {
  TRY(std::vector<std::size_t> dims, squeezed_dims(call));
  return tensor_result(call.tensor("self").dtype, reduced_sizes(call.tensor("self").sizes, dims, false));
}

Types infer_permuted(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::vector<std::size_t> order, permutation(call));
  Dims sizes;
  for (std::size_t dim : order) sizes.push_back(self.sizes[dim]);
  return tensor_result(self.dtype, std::move(sizes));
}

Result<Dims> expanded_sizes(const Dims& own, const Dims& wanted) {
  if (wanted.size() < own.size()) return argument_error("expand to fewer dimensions than the tensor has");
  Dims sizes = wanted;
  std::size_t added = wanted.size() - own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    SymInt& size = sizes[added + i];
    if (size == -1) {
      size = own[i];
    } else if (own[i] != 1 && own[i] != size) {
      return type_error(fmt::format("expand: size {} cannot be expanded to {}", own[i].str(), size.str()));
    }
  }
  return sizes;
}
Types infer_expand(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(Dims sizes, expanded_sizes(self.sizes, as_dims(call["size"])));
  return tensor_result(self.dtype, std::move(sizes));
}

// --- slices

// The size that torch recorded for dimension `dim` of a slice with open bounds, which torch clamps to the dimension;
// nothing if a slice cannot have it.
std::optional<SymInt> recorded_size(const OpCall& slice, std::size_t dim) {
  if (slice.node() == nullptr || !has_open_bounds(slice) || slice.node()->results().size() != 1)
    return std::nullopt;
  const Type& type = slice.node()->result()->type();
  const SymInt& whole = slice.tensor("self").sizes[dim];
  if (!type.is_tensor() || type.tensor.rank() <= dim) return std::nullopt;
  const SymInt& size = type.tensor.sizes[dim];
  const bool is_part =
      size.is_constant() && size.value() >= 0 && (!whole.is_constant() || size.value() <= whole.value());
  return is_part ? std::optional(size) : std::nullopt;
}

Types infer_slice(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Dims sizes = self.sizes;
  TRY(sizes[dim], slice_size(self.sizes[dim], call));
  if (const auto size = recorded_size(call, dim)) sizes[dim] = *size;
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_select(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  const Argument& index = call["index"];
  const SymInt& size = self.sizes[dim];
  if (index.is_int() && size.is_constant() &&
      (index.as_int() >= size.value() || index.as_int() < -size.value())) {
    return type_error(fmt::format("index {} is out of range for size {}", index.as_int(), size.str()));
  }
  Dims sizes = self.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return tensor_result(self.dtype, std::move(sizes));
}

Types infer_as_strided(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, as_dims(call["size"]));
}

Types infer_unfold(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, wrap_dim(call.integer("dimension"), self.rank()));
  SymInt window = as_sym_int(call["size"]);
  const SymInt step = as_sym_int(call["step"]);
  if (step.is_constant() && step.value() > std::numeric_limits<int>::max())
    return argument_error("'step' is beyond 32 bits");
  if (self.rank() == 0) return tensor_result(self.dtype, {window});
  Dims sizes = self.sizes;
  sizes[dim] = floor_div(sizes[dim] - window, step) + 1;
  sizes.push_back(window);
  return tensor_result(self.dtype, std::move(sizes));
}

// --- one op for each class of views

Replacement to_view(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, call.def().infer(call));
  const Dims& sizes = call.node() != nullptr ? call.node()->result()->tensor().sizes : types[0].tensor.sizes;
  if (call.tensor("self").sizes == sizes) return one(b.call("aten.alias.default", {call["self"]}));
  return one(b.view(b.own(call.value("self")), sizes));
}

Replacement to_permute(Builder& b, const OpCall& call) {
  TRY(std::vector<std::size_t> order, permutation(call));
  std::vector<std::int64_t> dims(order.begin(), order.end());
  return one(b.call("aten.permute.default", {call["self"], dims}));
}

Replacement to_squeeze_dims(Builder& b, const OpCall& call) {
  TRY(std::vector<std::size_t> dims, squeezed_dims(call));
  if (dims.empty()) return one(b.call("aten.alias.default", {call["self"]}));
  std::vector<std::int64_t> list(dims.begin(), dims.end());
  return one(b.call("aten.squeeze.dims", {call["self"], list}));
}

// A window of a 0-d tensor is the number itself.
Replacement unfold_number(Builder& b, const OpCall& call) {
  if (call.tensor("self").rank() != 0) return std::vector<Value*>{};
  Value* row = b.view(b.own(call.value("self")), {1});
  return one(b.call("aten.slice.Tensor", {row, 0, 0, call["size"]}));
}

// The runtime's kernel rejects an implicit expand, which is otherwise the same.
Replacement expand_explicitly(Builder& b, const OpCall& call) {
  if (!call.boolean("implicit")) return std::vector<Value*>{};
  return one(b.call("aten.expand.default", {call["self"], call["size"]}));
}
Replacement expand_as(Builder& b, const OpCall& call) {
  return one(b.call("aten.expand.default", {call["self"], call.tensor("other").sizes}));
}

// --- views that return their argument

bool keeps_order(const OpCall& call) {
  auto order = permutation(call);
  return order && std::ranges::is_sorted(*order);
}

constexpr OpRules reshaping(InferFunction infer, OpFlag flags) {
  return {.flags = flags,
          .view_kind = ViewKind::Reshape,
          .infer = infer,
          .decompose = to_view,
          .write_back = write_reshaped};
}
constexpr OpRules permuting(OpFlag flags = None) {
  return {.flags = View | flags,
          .view_kind = ViewKind::Permute,
          .infer = infer_permuted,
          .decompose = to_permute,
          .write_back = write_permuted};
}
// Transposes and conjugates.
Replacement complex_adjoint(Builder& b, const OpCall& call) {
  TRY(const std::vector<Value*> turned, to_permute(b, call));
  return one(b.call("aten._conj.default", {turned[0]}));
}
constexpr OpRules adjoining() {
  return on_complex(complex_adjoint, permuting());
}
constexpr OpRules squeezing(const char* out = nullptr, OpFlag flags = None) {
  return {.flags = View | flags,
          .view_kind = ViewKind::Reshape,
          .out = out,
          .infer = infer_squeeze,
          .decompose = out != nullptr ? nullptr : to_squeeze_dims,
          .write_back = write_reshaped};
}
constexpr OpRules aliasing(OpFlag flags = None) {
  return {.flags = View | flags,
          .view_kind = ViewKind::Reshape,
          .infer = infer_same_type,
          .decompose = to_alias,
          .write_back = write_whole};
}

// Whether the view does not set the sizes of a cat whose parts may all be empty (combining.cpp).
bool keeps_sizes(const OpCall& call) {
  const Value* self = call.value("self");
  const OpDef* producer = self->producer() == nullptr ? nullptr : self->producer()->def();
  const bool is_constant = std::ranges::all_of(self->tensor().sizes, &SymInt::is_constant);
  return is_constant || producer == nullptr || !producer->is(OpFlag::Concat);
}

}  // namespace

std::span<const OpLine> view_ops() {
  static constexpr OpLine lines[] = {
      {"aten.view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .view_kind = ViewKind::Reshape,
        .out = "view_copy.out",
        .infer = infer_view,
        .identity = keeps_sizes,
        .write_back = write_reshaped}},
      {"aten._unsafe_view(Tensor self, SymInt[] size)", reshaping(infer_view, None)},
      {"aten.reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshaping(infer_view, MayView)},
      {"aten.reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", reshaping(infer_view_as, MayView)},
      {"aten.view_as(Tensor(a) self, Tensor other) -> Tensor(a)", reshaping(infer_view_as, View)},
      {"aten.ravel(Tensor(a) self) -> Tensor(a)", reshaping(infer_flat, MayView)},
      {"aten._reshape_copy(Tensor self, SymInt[] size)", reshaping(infer_view, None)},
      {"aten.flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
       reshaping(infer_flatten, MayView)},
      {"aten.unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
       reshaping(infer_unflatten, View)},
      {"aten.unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
       {.flags = Core | View | CopyVariant | InPlaceVariant,
        .view_kind = ViewKind::Reshape,
        .out = "unsqueeze_copy.out",
        .infer = infer_unsqueeze,
        .write_back = write_reshaped}},
      {"aten.squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
       squeezing("squeeze_copy.dims_out", Core | CopyVariant | InPlaceVariant)},
      {"aten.squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
       squeezing(nullptr, CopyVariant | InPlaceVariant)},
      {"aten.squeeze(Tensor(a) self) -> Tensor(a)", squeezing(nullptr, CopyVariant | InPlaceVariant)},
      {"aten.permute(Tensor(a) self, int[] dims) -> Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .view_kind = ViewKind::Permute,
        .out = "permute_copy.out",
        .infer = infer_permuted,
        .identity = keeps_order,
        .write_back = write_permuted}},
      {"aten.transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", permuting(CopyVariant)},
      {"aten.transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
       {.flags = View, .infer = infer_same_type, .functional = "aten.transpose.int"}},
      {"aten.swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", permuting(InPlaceVariant)},
      {"aten.swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", permuting(InPlaceVariant)},
      {"aten.moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", permuting()},
      {"aten.moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", permuting()},
      {"aten.movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", permuting()},
      {"aten.movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", permuting()},
      {"aten.t(Tensor(a) self) -> Tensor(a)", permuting(CopyVariant | InPlaceVariant)},
      {"aten.numpy_T(Tensor(a) self) -> Tensor(a)", permuting()},
      {"aten.mT(Tensor(a) self) -> Tensor(a)", permuting()},
      {"aten.mH(Tensor(a) self) -> Tensor(a)", adjoining()},
      {"aten.adjoint(Tensor(a) self) -> Tensor(a)", adjoining()},
      {"aten.matrix_H(Tensor(a) self) -> Tensor(a)", adjoining()},
      {"aten.expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .view_kind = ViewKind::Expand,
        .out = "expand_copy.out",
        .infer = infer_expand,
        .decompose = expand_explicitly,
        .identity = always,
        .write_back = write_expanded}},
      {"aten.broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
       {.flags = View,
        .view_kind = ViewKind::Expand,
        .infer = infer_expand,
        .decompose = text<"expand(self, size)">,
        .write_back = write_expanded}},
      {"aten.expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
       {.flags = View, .view_kind = ViewKind::Expand, .decompose = expand_as, .write_back = write_expanded}},
      {"aten.slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
       "Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .view_kind = ViewKind::Slice,
        .out = "slice_copy.Tensor_out",
        .infer = infer_slice,
        .identity = always,
        .write_back = write_slice}},
      {"aten.select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
       accepting("self any", {.flags = Core | View | CopyVariant,
                              .view_kind = ViewKind::Select,
                              .out = "select_copy.int_out",
                              .infer = infer_select,
                              .write_back = write_selected})},
      {"aten.as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
       "Tensor(a)",
       {.flags = Core | View | CopyVariant | InPlaceVariant | ReadsLayout,
        .out = "as_strided_copy.out",
        .infer = infer_as_strided,
        .write_back = write_strided}},
      {"aten.unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .out = "unfold_copy.out",
        .infer = infer_unfold,
        .decompose = unfold_number}},
      {"aten.alias(Tensor(a) self) -> Tensor(a)",
       {.flags = Core | View | CopyVariant,
        .view_kind = ViewKind::Reshape,
        .out = "alias_copy.out",
        .infer = infer_same_type,
        .identity = always,
        .write_back = write_whole}},
      {"aten.detach(Tensor(a) self) -> Tensor(a)", aliasing(CopyVariant | InPlaceVariant)},
      {"aten.lift_fresh(Tensor(a) self) -> Tensor(a)", aliasing()},
      {"aten.lift_fresh_copy(Tensor self)",
       {.view_kind = ViewKind::Reshape, .infer = infer_same_type, .decompose = to_alias}},
      {"aten.positive(Tensor(a) self) -> Tensor(a)",
       {.flags = MayView | View,
        .view_kind = ViewKind::Reshape,
        .infer = infer_same_type,
        .decompose = to_alias,
        .write_back = write_whole}},
  };
  return lines;
}

}  // namespace depute::internal
