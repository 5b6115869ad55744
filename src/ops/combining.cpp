// Ops that put tensors together, pad, repeat and reorder them.
#include <fmt/format.h>

#include <algorithm>

#include "depute/builder.h"
#include "ops/kernel_forms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

using Ints = std::vector<std::int64_t>;

// torch lets a one-dimensional empty tensor be joined with anything.
bool is_ignored(const Value* part) {
  return part->tensor().rank() == 1 && part->tensor().sizes[0] == 0;
}

Types infer_cat(const OpCall& call) {
  std::vector<const Value*> parts = call.values("tensors");
  if (parts.empty()) return type_error("cat of no tensors");
  std::optional<TensorType> total;
  ScalarType dtype = parts[0]->tensor().dtype;
  for (const Value* part : parts) {
    dtype = promote(dtype, part->tensor().dtype);
    if (is_ignored(part)) continue;
    if (!total) {
      total = part->tensor();
      continue;
    }
    TRY(std::size_t dim, wrap_dim(call.integer("dim"), total->rank()));
    if (part->tensor().rank() != total->rank() || total->rank() == 0) {
      return type_error("cat of tensors of different ranks");
    }
    total->sizes[dim] = total->sizes[dim] + part->tensor().sizes[dim];
  }
  return tensor_result(dtype, total ? total->sizes : Dims{0});
}

// Empty parts go, and one part alone is the result.
Replacement cat(Builder& b, const OpCall& call) {
  std::vector<Value*> parts = b.own(call.values("tensors"));
  std::vector<Value*> kept;
  for (Value* part : parts) {
    if (part->tensor().static_numel() != 0) kept.push_back(part);
  }
  if (kept.empty()) {  // the kernel does not look at empty parts, and would miss the sizes
    TRY(std::vector<Type> types, infer_cat(call));
    return one(b.call("aten.full.default", {types[0].tensor.sizes, 0, types[0].tensor.dtype}));
  }
  if (kept.size() == 1) {
    TRY(std::vector<Type> types, infer_cat(call));
    if (types[0].tensor.dtype == kept[0]->tensor().dtype &&
        types[0].tensor.sizes == kept[0]->tensor().sizes) {
      return one(b.call("aten.alias.default", {kept[0]}));
    }
    return std::vector<Value*>{};
  }
  if (kept.size() == parts.size()) return std::vector<Value*>{};
  return one(b.call("aten.cat.default", {kept, call["dim"]}));
}
Replacement concat(Builder& b, const OpCall& call) {
  return one(b.call("aten.cat.default", call.args()));
}

Types infer_stack(const OpCall& call) {
  std::vector<const Value*> parts = call.values("tensors");
  if (parts.empty()) return type_error("stack of no tensors");
  ScalarType dtype = parts[0]->tensor().dtype;
  for (const Value* part : parts) dtype = promote(dtype, part->tensor().dtype);
  Dims sizes = parts[0]->tensor().sizes;
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), sizes.size() + 1));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim),
               SymInt(static_cast<std::int64_t>(parts.size())));
  return tensor_result(dtype, std::move(sizes));
}
Replacement stack(Builder& b, const OpCall& call) {
  std::vector<Value*> parts;
  for (const Value* part : call.values("tensors")) {
    parts.push_back(b.call("aten.unsqueeze.default", {part, call["dim"]}));
  }
  return one(b.call("aten.cat.default", {parts, call["dim"]}));
}

// --- padding: pairs of numbers, the last dimension first

Types infer_pad(const OpCall& call) {
  const TensorType& self = call[0].as_value()->tensor();
  Dims pad = as_dims(call[1]);
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.rank()) return type_error("padding of the wrong length");
  Dims sizes = self.sizes;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    SymInt& size = sizes[self.rank() - 1 - i];
    size = size + pad[2 * i] + pad[2 * i + 1];
    if (size.is_constant() && size.value() < 0) return type_error("padding that removes more than there is");
  }
  return tensor_result(self.dtype, std::move(sizes));
}

bool is_no_padding(const OpCall& call) {
  Dims pad = as_dims(call[1]);
  return std::ranges::all_of(pad, [](const SymInt& size) { return size == 0; });
}

Replacement pad(Builder& b, const OpCall& call) {
  std::string_view mode = call.text("mode");
  if (mode == "constant") {
    Argument value = call["value"].is_none() ? Argument::of(0) : call["value"];
    return one(b.call("aten.constant_pad_nd.default", {call["self"], call["pad"], value}));
  }
  std::size_t dims = as_dims(call["pad"]).size() / 2;
  bool is_known = (mode == "reflect" || mode == "replicate") && dims >= 1 && dims <= 3;
  if (!is_known) return type_error(fmt::format("padding mode '{}' over {} dimensions", mode, dims));
  std::string_view name = mode == "reflect" ? "reflection_pad" : "replication_pad";
  return one(b.call(fmt::format("aten.{}{}d.default", name, dims), {call["self"], call["pad"]}));
}

constexpr OpRules padding(const char* out) {
  return {.flags = core, .out = out, .infer = infer_pad, .identity = is_no_padding};
}

// --- repetition and order

Types infer_repeat(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Dims sizes = as_dims(call["repeats"]);
  if (sizes.size() < self.rank()) return argument_error("repeat with fewer numbers than dimensions");
  std::size_t added = sizes.size() - self.rank();
  for (std::size_t i = 0; i < self.rank(); ++i) sizes[added + i] = sizes[added + i] * self.sizes[i];
  return tensor_result(self.dtype, std::move(sizes));
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
  if (b.failed()) return Failure(b.status().error());
  std::int64_t given = call["dim"].is_none() ? 0 : call.integer("dim");
  TRY(std::size_t dim, wrap_dim(given, x->tensor().rank()));
  Dims sizes = x->tensor().sizes;
  Dims merged = sizes;
  SymInt repeats = as_sym_int(call["repeats"]);
  merged[dim] = merged[dim] * repeats;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim) + 1, repeats);
  Value* column = b.call("aten.unsqueeze.default", {x, static_cast<std::int64_t>(dim) + 1});
  Value* wide = b.call("aten.expand.default", {column, sizes});
  if (b.failed()) return Failure(b.status().error());
  return one(b.view(wide, merged));
}

Types infer_meshgrid(const OpCall& call) {
  std::vector<const Value*> axes = call.values("tensors");
  Dims sizes;
  for (const Value* axis : axes) sizes.push_back(axis->tensor().numel());
  if (call.text("indexing") == "xy" && sizes.size() >= 2) std::swap(sizes[0], sizes[1]);
  std::vector<Type> types;
  for (const Value* axis : axes) {
    types.push_back(tensor_type({.dtype = axis->tensor().dtype, .sizes = sizes}));
  }
  return types;
}
Replacement meshgrid(Builder& b, const OpCall& call) {
  std::vector<Value*> axes = b.own(call.values("tensors"));
  TRY(std::vector<Type> types, infer_meshgrid(call));
  bool swaps = call.text("indexing") == "xy" && axes.size() >= 2;
  std::vector<Value*> grids;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t place = swaps && i < 2 ? 1 - i : i;
    Dims line(axes.size(), SymInt(1));
    line[place] = axes[i]->tensor().numel();
    grids.push_back(b.call("aten.expand.default", {b.view(axes[i], line), types[i].tensor.sizes}));
  }
  return grids;
}

// The last elements come first: two slices and a cat per dimension.
Replacement roll(Builder& b, const OpCall& call) {
  if (!call.is_constant_ints("shifts")) return type_error("roll by a number that is not constant");
  Ints shifts = call.ints("shifts"), dims = call.ints("dims");
  Value* x = b.own(call.value("self"));
  Dims sizes = x->tensor().sizes;
  if (dims.empty()) {
    x = b.view(x, {x->tensor().numel()});
    dims = {0};
  }
  if (b.failed() || dims.size() != shifts.size()) return argument_error("roll with unequal lists");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    TRY(std::size_t dim, wrap_dim(dims[i], x->tensor().rank()));
    TRY(std::int64_t size, static_size(x->tensor(), dim, "a size that roll moves"));
    std::int64_t shift = size == 0 ? 0 : ((shifts[i] % size) + size) % size;
    if (shift == 0) continue;
    auto axis = static_cast<std::int64_t>(dim);
    Value* front = b.call("aten.slice.Tensor", {x, axis, size - shift, size});
    Value* back = b.call("aten.slice.Tensor", {x, axis, 0, size - shift});
    x = b.call("aten.cat.default", {std::vector<Value*>{front, back}, axis});
    if (b.failed()) return Failure(b.status().error());
  }
  if (x == call.value("self")) return one(b.call("aten.alias.default", {x}));
  return one(b.view(x, sizes));
}

bool always(const OpCall&) {
  return true;
}

bool flips_nothing(const OpCall& call) {
  return call.ints("dims").empty();
}

// Below (or above) the diagonal the elements stay, the others become 0.
Replacement triangle(Builder& b, const OpCall& call, std::string_view comparison) {
  const TensorType& self = call.tensor("self");
  if (self.rank() < 2) return argument_error("a triangle of a tensor without two dimensions");
  Argument rows = b.size(self.sizes[self.rank() - 2]);
  Argument columns = b.size(self.sizes.back());
  Value* row = b.call("aten.unsqueeze.default", {b.call("aten.arange.start_step", {0, rows}), -1});
  Value* column = b.call("aten.arange.start_step", {0, columns});
  Value* distance = b.call("aten.sub.Tensor", {column, row});
  Value* is_kept = b.call(comparison, {distance, call["diagonal"]});
  return one(b.call("aten.where.self", {is_kept, call["self"], 0}));
}
Replacement tril(Builder& b, const OpCall& call) {
  return triangle(b, call, "aten.le.Scalar");
}
Replacement triu(Builder& b, const OpCall& call) {
  return triangle(b, call, "aten.ge.Scalar");
}

}  // namespace

std::span<const OpLine> combining_ops() {
  static constexpr OpLine lines[] = {
      {"aten.cat.default(Tensor[] tensors, int dim=0) -> Tensor",
       {.flags = core, .out = "cat.out", .infer = infer_cat, .decompose = cat}},
      {"aten.concat.default(Tensor[] tensors, int dim=0) -> Tensor", composite(infer_cat, concat)},
      {"aten.concatenate.default(Tensor[] tensors, int dim=0) -> Tensor", composite(infer_cat, concat)},
      {"aten.stack.default(Tensor[] tensors, int dim=0) -> Tensor", composite(infer_stack, stack)},
      {"aten.constant_pad_nd.default(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
       fitted(pad_by_slices, padding("constant_pad_nd.out"))},
      {"aten.reflection_pad1d.default(Tensor self, SymInt[2] padding) -> Tensor",
       padding("reflection_pad1d.out")},
      {"aten.reflection_pad2d.default(Tensor self, SymInt[4] padding) -> Tensor",
       padding("reflection_pad2d.out")},
      {"aten.reflection_pad3d.default(Tensor self, SymInt[6] padding) -> Tensor",
       padding("reflection_pad3d.out")},
      {"aten.replication_pad1d.default(Tensor self, SymInt[2] padding) -> Tensor",
       padding("replication_pad1d.out")},
      {"aten.replication_pad2d.default(Tensor self, SymInt[4] padding) -> Tensor",
       padding("replication_pad2d.out")},
      {"aten.replication_pad3d.default(Tensor self, SymInt[6] padding) -> Tensor",
       padding("replication_pad3d.out")},
      {"aten.pad.default(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
       {.infer = infer_pad, .decompose = pad}},
      {"aten.repeat.default(Tensor self, SymInt[] repeats) -> Tensor",
       {.flags = core,
        .view_kind = ViewKind::Expand,
        .out = "repeat.out",
        .infer = infer_repeat,
        .identity = always}},
      {"aten.repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? "
       "output_size=None) -> Tensor",
       composite(infer_repeat_interleave, repeat_interleave)},
      {"aten.meshgrid.default(Tensor[] tensors) -> Tensor[]", opaque()},
      {"aten.meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
       composite(infer_meshgrid, meshgrid)},
      {"aten.flip.default(Tensor self, int[] dims) -> Tensor",
       {.flags = core, .out = "flip.out", .infer = infer_same_type, .identity = flips_nothing}},
      {"aten.roll.default(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
       composite(infer_same_type, roll)},
      {"aten.tril.default(Tensor self, SymInt diagonal=0) -> Tensor", composite(infer_same_type, tril)},
      {"aten.triu.default(Tensor self, SymInt diagonal=0) -> Tensor", composite(infer_same_type, triu)},
      {"aten.tril_indices.default(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       opaque(core)},
  };
  return lines;
}

}  // namespace depute::internal
