// Ops that put tensors together, and pad them.
#include <fmt/format.h>

#include <algorithm>

#include "depute/builder.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

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
  if (kept.empty()) kept.push_back(parts[0]);
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

}  // namespace

std::span<const OpLine> combining_ops() {
  static constexpr OpLine lines[] = {
      {"aten.cat.default(Tensor[] tensors, int dim=0) -> Tensor",
       {.flags = core, .out = "cat.out", .infer = infer_cat, .decompose = cat}},
      {"aten.concat.default(Tensor[] tensors, int dim=0) -> Tensor", composite(infer_cat, concat)},
      {"aten.concatenate.default(Tensor[] tensors, int dim=0) -> Tensor", composite(infer_cat, concat)},
      {"aten.stack.default(Tensor[] tensors, int dim=0) -> Tensor", composite(infer_stack, stack)},
      {"aten.constant_pad_nd.default(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
       padding("constant_pad_nd.out")},
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
  };
  return lines;
}

}  // namespace depute::internal
