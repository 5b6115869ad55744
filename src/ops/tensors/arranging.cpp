// Ops that repeat or reorder a tensor's elements.
//
//   aten.tile.default(f32[2, 3], [2])             ->  repeat [1, 2]
//   aten.roll.default(f32[5], [2])                ->  cat of slices 3:5 and 0:3
//   aten.rot90.default(f32[2, 3])                 ->  flip [1], permute [1, 0]
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- repetition

Types infer_repeat(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Dims sizes = as_dims(call["repeats"]);
  if (sizes.size() < self.rank()) return argument_error("repeat requires at least one value per dimension");
  std::size_t added = sizes.size() - self.rank();
  for (std::size_t i = 0; i < self.rank(); ++i) sizes[added + i] = sizes[added + i] * self.sizes[i];
  return tensor_result(self.dtype, std::move(sizes));
}

// Missing leading dimensions have the count 1.
Dims tile_counts(const OpCall& call) {
  Dims counts = as_dims(call["dims"]);
  std::size_t rank = call.tensor("self").rank();
  if (counts.size() < rank) counts.insert(counts.begin(), rank - counts.size(), SymInt(1));
  return counts;
}
Replacement tile(Builder& b, const OpCall& call) {
  return one(b.call("aten.repeat.default", {call["self"], tile_counts(call)}));
}

Types infer_repeat_interleave(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  SymInt repeats = as_sym_int(call["repeats"]);
  if (call["dim"].is_none()) return tensor_result(self.dtype, {self.numel() * repeats});
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Dims sizes = self.sizes;
  sizes[dim] = sizes[dim] * repeats;
  return tensor_result(self.dtype, std::move(sizes));
}
Replacement repeat_interleave(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  if (call["dim"].is_none()) x = b.view(x, {x->tensor().numel()});
  std::int64_t given = call["dim"].is_none() ? 0 : call.integer("dim");
  TRY(std::size_t dim, wrap_dim(given, x->tensor().rank()));
  Dims sizes = x->tensor().sizes;
  Dims merged = sizes;
  SymInt repeats = as_sym_int(call["repeats"]);
  merged[dim] = merged[dim] * repeats;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim) + 1, repeats);
  Value* column = b.call("aten.unsqueeze.default", {x, static_cast<std::int64_t>(dim) + 1});
  Value* wide = b.call("aten.expand.default", {column, sizes});
  return one(b.view(wide, merged));
}

// Returns the number of elements after repeating: given by the call, or taken from the traced result.
SymInt repeated_size(const OpCall& call, std::size_t dim) {
  if (!call["output_size"].is_none()) return as_sym_int(call["output_size"]);
  const Type* declared = call.node() == nullptr ? nullptr : &call.node()->result()->type();
  const bool is_declared = declared != nullptr && declared->is_tensor() && dim < declared->tensor.rank();
  return is_declared ? declared->tensor.sizes[dim] : SymInt::symbol("repeated");
}
// Each element's index occurs as often as the element is repeated.
Types infer_repeated_indices(const OpCall& call) {
  return tensor_result(ScalarType::I64, {repeated_size(call, 0)});
}
Types infer_repeat_by_tensor(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (call["dim"].is_none()) return tensor_result(self.dtype, {repeated_size(call, 0)});
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Dims sizes = self.sizes;
  sizes[dim] = repeated_size(call, dim);
  return tensor_result(self.dtype, std::move(sizes));
}
Replacement repeat_by_tensor(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  if (call["dim"].is_none()) x = b.view(x, {x->tensor().numel()});
  TRY(std::size_t dim, wrap_dim(call["dim"].is_none() ? 0 : call.integer("dim"), x->tensor().rank()));
  Value* repeats = b.own(call.value("repeats"));
  if (repeats->tensor().numel() == 1)
    repeats = b.call("aten.expand.default", {repeats, Dims{x->tensor().sizes[dim]}});
  Value* index = b.call("aten.repeat_interleave.Tensor", {repeats, call["output_size"]});
  SymInt size = repeated_size(call, dim);
  b.graph().set_type(*index, tensor_type({.dtype = ScalarType::I64, .sizes = {size}}));
  return one(b.call("aten.index_select.default", {x, static_cast<std::int64_t>(dim), index}));
}

bool is_xy(const OpCall& call) {
  return call.def().arg_index(Name("indexing")) >= 0 && call.text("indexing") == "xy";
}
Types infer_meshgrid(const OpCall& call) {
  std::vector<const Value*> axes = call.values("tensors");
  Dims sizes;
  for (const Value* axis : axes) sizes.push_back(axis->tensor().numel());
  if (is_xy(call) && sizes.size() >= 2) std::swap(sizes[0], sizes[1]);
  std::vector<Type> types;
  for (const Value* axis : axes) {
    types.push_back(tensor_type({.dtype = axis->tensor().dtype, .sizes = sizes}));
  }
  return types;
}
Replacement meshgrid(Builder& b, const OpCall& call) {
  std::vector<Value*> axes = b.own(call.values("tensors"));
  TRY(std::vector<Type> types, infer_meshgrid(call));
  bool swaps = is_xy(call) && axes.size() >= 2;
  std::vector<Value*> grids;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t place = swaps && i < 2 ? 1 - i : i;
    Dims line(axes.size(), SymInt(1));
    line[place] = axes[i]->tensor().numel();
    grids.push_back(b.call("aten.expand.default", {b.view(axes[i], line), types[i].tensor.sizes}));
  }
  return grids;
}

// --- order

// Returns the position of the element that comes first after rolling a dimension of `size`.
SymInt rolled_start(const SymInt& size, const SymInt& shift) {
  if (size == 0) return 0;
  const SymInt back = mod(shift * SymInt(-1), size);
  // Matches torch's own expression for the sizes, which takes the remainder of a nonnegative number.
  return shift.is_constant() && shift.value() > 0 && !size.is_constant() ? size - mod(shift, size) : back;
}

// Moves the last elements to the front: two slices and a cat per dimension.
Replacement roll(Builder& b, const OpCall& call) {
  const Dims shifts = as_dims(call["shifts"]);
  Ints dims = call.ints("dims");
  Value* x = b.own(call.value("self"));
  Dims sizes = x->tensor().sizes;
  if (dims.empty()) {
    x = b.view(x, {x->tensor().numel()});
    dims = {0};
  }
  if (dims.size() != shifts.size()) return argument_error("roll requires as many shifts as dims");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    TRY(std::size_t dim, wrap_dim(dims[i], x->tensor().rank()));
    if (x->tensor().rank() == 0) continue;
    SymInt size = x->tensor().sizes[dim];
    x = rotated(b, x, dim, rolled_start(size, shifts[i]));
  }
  if (x == call.value("self")) return one(b.call("aten.alias.default", {x}));
  return one(b.view(x, sizes));
}

bool flips_nothing(const OpCall& call) {
  return call.ints("dims").empty();
}

Replacement fliplr(Builder& b, const OpCall& call) {
  if (call.tensor("self").rank() < 2) return argument_error("fliplr requires a tensor of rank 2 or more");
  return one(b.call("aten.flip.default", {call["self"], Ints{1}}));
}
Replacement flipud(Builder& b, const OpCall& call) {
  if (call.tensor("self").rank() < 1) return argument_error("flipud requires a tensor of rank 1 or more");
  return one(b.call("aten.flip.default", {call["self"], Ints{0}}));
}

// The two dimensions of a rotation, and the number of quarter turns.
struct Rotation {
  std::int64_t from, to, quarters;
};
Result<Rotation> read_rotation(const OpCall& call) {
  Ints dims = call.ints("dims");
  if (dims.size() != 2) return argument_error("rot90 requires exactly two dims");
  TRY(std::size_t from, wrap_dim(dims[0], call.tensor("self").rank()));
  TRY(std::size_t to, wrap_dim(dims[1], call.tensor("self").rank()));
  if (from == to) return argument_error("rot90 requires two different dims");
  std::int64_t quarters = ((call.integer("k") % 4) + 4) % 4;
  return Rotation{static_cast<std::int64_t>(from), static_cast<std::int64_t>(to), quarters};
}
Replacement rot90(Builder& b, const OpCall& call) {
  TRY(Rotation rotation, read_rotation(call));
  auto [from, to, quarters] = rotation;
  if (quarters == 0) return one(b.call("aten.alias.default", {call["self"]}));
  if (quarters == 2) return one(b.call("aten.flip.default", {call["self"], Ints{from, to}}));
  Value* flipped = b.call("aten.flip.default", {call["self"], Ints{quarters == 1 ? to : from}});
  return one(b.call("aten.transpose.int", {flipped, from, to}));
}

// Views [N, g * c, ...] as [N, c * g, ...].
Replacement channel_shuffle(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  Dims sizes = x->tensor().sizes;
  SymInt groups = as_sym_int(call["groups"]);
  if (sizes.size() < 3) return argument_error("channel_shuffle requires a tensor of rank 3 or more");
  if (groups.is_constant() && groups.value() <= 0)
    return argument_error("channel_shuffle requires 1 group or more");
  Dims apart = sizes;
  apart[1] = floor_div(sizes[1], groups);
  apart.insert(apart.begin() + 1, groups);
  Ints order(apart.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[2]);
  Value* shuffled = b.call("aten.permute.default", {b.view(x, apart), order});
  return one(reshape(b, shuffled, sizes));
}

// --- triangles

// Keeps the elements below (or above) the diagonal; the others become 0.
Replacement triangle(Builder& b, const OpCall& call, std::string_view comparison) {
  const TensorType& self = call.tensor("self");
  if (self.rank() < 2) return argument_error("tril and triu require a tensor of rank 2 or more");
  Argument rows = b.size(self.sizes[self.rank() - 2]);
  Argument columns = b.size(self.sizes.back());
  Value* row = b.call("aten.unsqueeze.default", {b.call("aten.arange.start_step", {0, rows}), -1});
  Value* column = b.call("aten.arange.start_step", {0, columns});
  Value* distance = b.call("aten.sub.Tensor", {column, row});
  Value* is_kept = b.call(comparison, {distance, call["diagonal"]});
  if (self.dtype == ScalarType::Bool) {  // a number would promote bools
    return one(b.call("aten.logical_and.default", {is_kept, call["self"]}));
  }
  return one(b.call("aten.where.self", {is_kept, call["self"], 0}));
}

}  // namespace

std::span<const OpLine> arranging_ops() {
  static constexpr OpLine lines[] = {
      {"aten.repeat(Tensor self, SymInt[] repeats)", on_complex(each_part, {.flags = Core,
                                                                            .view_kind = ViewKind::Expand,
                                                                            .out = "repeat.out",
                                                                            .infer = infer_repeat,
                                                                            .identity = always})},
      {"aten.repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
       "output_size=None)",
       composite(infer_repeat_interleave, repeat_interleave)},
      {"aten.tile(Tensor self, SymInt[] dims)", derived(tile)},
      {"aten.repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None)",
       kernel("repeat_interleave.Tensor_out", infer_repeated_indices)},
      {"aten.repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? "
       "output_size=None)",
       composite(infer_repeat_by_tensor, repeat_by_tensor)},
      {"aten.meshgrid(Tensor[] tensors) -> Tensor[]", composite(infer_meshgrid, meshgrid, MayView)},
      {"aten.meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
       composite(infer_meshgrid, meshgrid, MayView)},
      {"aten.flip(Tensor self, int[] dims)",
       row_by_row(on_complex(
           each_part,
           {.flags = Core, .out = "flip.out", .infer = infer_same_type, .identity = flips_nothing}))},
      {"aten.fliplr(Tensor self)", composite(infer_same_type, fliplr)},
      {"aten.flipud(Tensor self)", composite(infer_same_type, flipud)},
      {"aten.rot90(Tensor self, int k=1, int[] dims=[0, 1])", derived(rot90)},
      {"aten.channel_shuffle(Tensor self, SymInt groups)", composite(infer_same_type, channel_shuffle)},
      {"aten.native_channel_shuffle(Tensor self, SymInt groups)",
       composite(infer_same_type, channel_shuffle)},
      {"aten.roll(Tensor self, SymInt[1] shifts, int[1] dims=[])", composite(infer_same_type, roll)},
      {"aten.tril(Tensor self, SymInt diagonal=0)",
       composite(infer_same_type, given<triangle, Text("aten.le.Scalar")>, InPlaceVariant)},
      {"aten.triu(Tensor self, SymInt diagonal=0)",
       composite(infer_same_type, given<triangle, Text("aten.ge.Scalar")>, InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
