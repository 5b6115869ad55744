// Ops that raise tensors to a rank and join them: all become views and one cat.
//
//   aten.vstack.default([f32[3], f32[2, 3]])       ->   view [1, 3], cat along 0: f32[3, 3]
//   aten.block_diag.default([f32[2, 2], f32[1]])   ->   pad each with zeros to 3 columns, cat along 0
#include <fmt/format.h>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- ranks

// Adds sizes of 1 like atleast_1d, _2d and _3d: in front, and for three dimensions also at the end.
Dims raised(Dims sizes, std::size_t rank) {
  if (sizes.empty()) return Dims(rank, SymInt(1));
  if (sizes.size() == 1 && rank >= 2) sizes.insert(sizes.begin(), SymInt(1));
  if (sizes.size() == 2 && rank >= 3) sizes.push_back(1);
  return sizes;
}
// Returns the sizes of a column for column_stack.
Dims as_column(Dims sizes, std::size_t) {
  return sizes.size() < 2 ? Dims{product({sizes.data(), sizes.size()}), 1} : sizes;
}

template <std::size_t rank>
Replacement raise(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  if (x->tensor().rank() >= rank) return one(b.call("aten.alias.default", {x}));
  return one(b.view(x, raised(x->tensor().sizes, rank)));
}

template <std::size_t rank>
Replacement raise_all(Builder& b, const OpCall& call) {
  std::vector<Value*> results;
  for (Value* x : b.own(call.values("tensors"))) {
    results.push_back(b.view(x, raised(x->tensor().sizes, rank)));
  }
  return results;
}

// --- joining

Result<std::vector<const Value*>> some_tensors(const OpCall& call) {
  std::vector<const Value*> parts = call.values(call.def().args[0].name.str());
  if (parts.empty()) return argument_error("the list of tensors is empty");
  return parts;
}

ScalarType joined_type(const std::vector<const Value*>& parts) {
  ScalarType dtype = parts[0]->tensor().dtype;
  for (const Value* part : parts) dtype = promote(dtype, part->tensor().dtype);
  return dtype;
}

// How the parts are reshaped before they are joined, and the dimension to join along.
struct Joint {
  Dims (*reshape)(Dims sizes, std::size_t rank);
  std::size_t rank;
  std::size_t dim;
};
constexpr Joint vertical{raised, 2, 0}, deep{raised, 3, 2}, by_columns{as_column, 2, 1};

// hstack joins vectors end to end, other tensors along dimension 1.
Joint horizontal(const OpCall& call) {
  std::vector<const Value*> parts = call.values("tensors");
  std::size_t rank = parts.empty() ? 1 : parts[0]->tensor().rank();
  return {raised, 1, rank <= 1 ? std::size_t{0} : std::size_t{1}};
}

Replacement stacked(Builder& b, const OpCall& call, const Joint* joint) {
  std::vector<Value*> parts;
  for (Value* part : b.own(call.values("tensors"))) {
    parts.push_back(b.view(part, joint->reshape(part->tensor().sizes, joint->rank)));
  }
  return one(b.call("aten.cat.default", {parts, static_cast<std::int64_t>(joint->dim)}));
}

Replacement hstack(Builder& b, const OpCall& call) {
  const Joint joint = horizontal(call);
  return stacked(b, call, &joint);
}

// --- block_diag: pads both sides of each tensor's columns with zeros

Types infer_block_diag(const OpCall& call) {
  TRY(std::vector<const Value*> parts, some_tensors(call));
  Dims total{0, 0};
  for (const Value* part : parts) {
    Dims sizes = raised(part->tensor().sizes, 2);
    if (sizes.size() != 2) return argument_error("block_diag requires tensors of rank 2 or less");
    for (std::size_t i = 0; i < 2; ++i) total[i] = total[i] + sizes[i];
  }
  return tensor_result(joined_type(parts), total);
}
Replacement block_diag(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_block_diag(call));
  SymInt columns = types[0].tensor.sizes[1], left = 0;
  std::vector<Value*> rows;
  for (Value* part : b.own(call.values("tensors"))) {
    Dims sizes = raised(part->tensor().sizes, 2);
    Dims padding{left, columns - left - sizes[1]};
    rows.push_back(b.call("aten.constant_pad_nd.default", {b.view(part, sizes), padding}));
    left = left + sizes[1];
  }
  return one(b.call("aten.cat.default", {rows}));
}

// --- _chunk_cat: each tensor as num_chunks rows, padded with zeros, joined behind the chunks

struct Chunked {
  SymInt padding;  // zeros at the end of `dim`
  Dims sizes;      // [..., num_chunks, flattened rest]
};
Chunked chunked(const TensorType& part, std::size_t dim, std::int64_t chunks) {
  SymInt length = floor_div(part.sizes[dim] + (chunks - 1), chunks);
  SymInt rest = length;
  for (std::size_t i = dim + 1; i < part.rank(); ++i) rest = rest * part.sizes[i];
  Dims sizes(part.sizes.begin(), part.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  sizes.push_back(chunks);
  sizes.push_back(rest);
  return {length * chunks - part.sizes[dim], std::move(sizes)};
}

Replacement chunk_cat(Builder& b, const OpCall& call) {
  std::vector<Value*> rows;
  std::int64_t axis = 0;
  if (call.integer("num_chunks") <= 0) return argument_error("_chunk_cat requires 1 chunk or more");
  for (Value* part : b.own(call.values("tensors"))) {
    TRY(std::size_t dim, dim_of(call, "dim", part->tensor()));
    Chunked chunk = chunked(part->tensor(), dim, call.integer("num_chunks"));
    Dims padding(2 * (part->tensor().rank() - dim), SymInt{});
    padding.back() = chunk.padding;
    axis = static_cast<std::int64_t>(dim) + 1;
    Value* padded = chunk.padding == 0 ? part : b.call("aten.constant_pad_nd.default", {part, padding});
    rows.push_back(b.view(padded, chunk.sizes));
  }
  return one(b.call("aten.cat.default", {rows, axis}));
}

// --- broadcasting, and all combinations

Types infer_broadcast_tensors(const OpCall& call) {
  Dims sizes;
  for (const Value* x : call.values("tensors")) {
    TRY(sizes, broadcast(sizes, x->tensor().sizes));
  }
  std::vector<Type> types;
  for (const Value* x : call.values("tensors")) {
    types.push_back(tensor_type({.dtype = x->tensor().dtype, .sizes = sizes}));
  }
  return types;
}
Replacement broadcast_tensors(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_broadcast_tensors(call));
  std::vector<Value*> results;
  for (Value* x : b.own(call.values("tensors"))) {
    results.push_back(b.call("aten.expand.default", {x, types[0].tensor.sizes}));
  }
  return results;
}

Types infer_cartesian_prod(const OpCall& call) {
  TRY(std::vector<const Value*> axes, some_tensors(call));
  if (axes.size() == 1) return tensor_result(axes[0]->tensor().dtype, axes[0]->tensor().sizes);
  SymInt count = 1;
  for (const Value* axis : axes) count = count * axis->tensor().numel();
  return tensor_result(axes[0]->tensor().dtype, {count, static_cast<std::int64_t>(axes.size())});
}
// Expands each axis to a grid of all of them, as one column.
Replacement cartesian_prod(Builder& b, const OpCall& call) {
  std::vector<Value*> axes = b.own(call.values("tensors"));
  TRY(std::vector<Type> types, infer_cartesian_prod(call));
  if (axes.size() == 1) return one(b.call("aten.alias.default", {axes[0]}));
  Dims grid;
  for (Value* axis : axes) grid.push_back(axis->tensor().numel());
  grid.push_back(1);
  std::vector<Value*> columns;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dims line(grid.size(), SymInt(1));
    line[i] = grid[i];
    columns.push_back(b.call("aten.expand.default", {b.view(axes[i], line), grid}));
  }
  Value* rows = b.call("aten.cat.default", {columns, -1});
  return one(b.view(rows, types[0].tensor.sizes));
}

template <std::size_t rank>
constexpr OpRules raising() {
  return {
      .flags = View, .view_kind = ViewKind::Reshape, .decompose = raise<rank>, .write_back = write_reshaped};
}

}  // namespace

std::span<const OpLine> stacking_ops() {
  static constexpr OpLine lines[] = {
      {"aten.atleast_1d(Tensor self)", raising<1>()},
      {"aten.atleast_2d(Tensor self)", raising<2>()},
      {"aten.atleast_3d(Tensor self)", raising<3>()},
      {"aten.atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", derived(raise_all<1>, MayView)},
      {"aten.atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", derived(raise_all<2>, MayView)},
      {"aten.atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", derived(raise_all<3>, MayView)},
      {"aten.hstack(Tensor[] tensors)", derived(hstack)},
      {"aten.vstack(Tensor[] tensors)", derived(given<stacked, &vertical>)},
      {"aten.row_stack(Tensor[] tensors)", derived(given<stacked, &vertical>)},
      {"aten.dstack(Tensor[] tensors)", derived(given<stacked, &deep>)},
      {"aten.column_stack(Tensor[] tensors)", derived(given<stacked, &by_columns>)},
      {"aten.block_diag(Tensor[] tensors)", composite(infer_block_diag, block_diag)},
      {"aten._chunk_cat(Tensor[] tensors, int dim, int num_chunks)", derived(chunk_cat)},
      {"aten.broadcast_tensors(Tensor[] tensors) -> Tensor[]",
       composite(infer_broadcast_tensors, broadcast_tensors, MayView)},
      {"aten.cartesian_prod(Tensor[] tensors)", composite(infer_cartesian_prod, cartesian_prod)},
  };
  return lines;
}

}  // namespace depute::internal
