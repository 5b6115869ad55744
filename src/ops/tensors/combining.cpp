// Ops that join and pad tensors.
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

// torch allows joining an empty tensor of one dimension with anything.
bool is_ignored(const Value* part) {
  return part->tensor().rank() == 1 && part->tensor().sizes[0] == 0;
}

Types infer_cat(const OpCall& call) {
  std::vector<const Value*> parts = call.values("tensors");
  if (parts.empty()) return argument_error("cat requires at least one tensor");
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
      return argument_error("cat requires tensors of the same rank");
    }
    const Dims& own = part->tensor().sizes;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool may_be_equal =
          i == dim || own[i] == total->sizes[i] || !own[i].is_constant() || !total->sizes[i].is_constant();
      if (!may_be_equal) {
        return argument_error(fmt::format("cat: sizes {} and {} in dimension {} differ",
                                          total->sizes[i].str(), own[i].str(), i));
      }
    }
    total->sizes[dim] = total->sizes[dim] + own[dim];
  }
  return tensor_result(dtype, total ? total->sizes : Dims{0});
}

// Converts parts to the result's type, drops empty parts, and returns a single part itself. The runtime's
// kernel checks only the first part's type and copies the bytes of all.
Replacement cat(Builder& b, const OpCall& call) {
  TRY(const std::vector<Type> types, infer_cat(call));
  const TensorType& whole = types[0].tensor;
  const std::vector<const Value*> parts = call.values("tensors");
  std::vector<Value*> kept;
  bool is_changed = false;
  for (const Value* part : parts) {
    is_changed |= part->tensor().dtype != whole.dtype || part->tensor().static_numel() == 0;
    if (part->tensor().static_numel() != 0) kept.push_back(to_dtype(b, b.own(part), whole.dtype));
  }
  // The kernel skips empty parts, so it would not set the sizes.
  if (kept.empty()) return one(b.call("aten.full.default", {whole.sizes, 0, whole.dtype}));
  if (kept.size() == 1 && whole.sizes == kept[0]->tensor().sizes)
    return one(b.call("aten.alias.default", {kept[0]}));
  if (!is_changed) return std::vector<Value*>{};
  return one(b.call("aten.cat.default", {kept, call["dim"]}));
}

// The kernel skips empty parts: where all are empty it would not set the sizes beside the joined one.
Replacement sized_when_empty(Builder& b, const OpCall& call) {
  TRY(const std::vector<Type> types, infer_cat(call));
  const Dims& sizes = types[0].tensor.sizes;
  TRY(const std::size_t joined, wrap_dim(call.integer("dim"), sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == joined || b.range_of(sizes[i]).min > 0) continue;
    return one(b.call("aten.view.default", {b.call("aten.cat.default", call.args()), sizes}));
  }
  return std::vector<Value*>{};
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
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.rank())
    return argument_error("the padding list has the wrong length");
  Dims sizes = self.sizes;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    SymInt& size = sizes[self.rank() - 1 - i];
    size = size + pad[2 * i] + pad[2 * i + 1];
    if (size.is_constant() && size.value() < 0)
      return argument_error("negative padding removes more elements than the dimension has");
  }
  return tensor_result(self.dtype, std::move(sizes));
}

bool is_no_padding(const OpCall& call) {
  Dims pad = as_dims(call[1]);
  return std::ranges::all_of(pad, [](const SymInt& size) { return size == 0; });
}

// Negative padding removes elements. The positive padding is applied first, since it may mirror elements that
// are then removed. A dynamic number may do either, depending on its value at run time.
Replacement pad_and_cut(Builder& b, const OpCall& call) {
  Dims added = as_dims(call[1]);
  Dims cut(added.size());
  bool cuts = false;
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (b.range_of(added[i]).min >= 0) continue;
    cut[i] = sym_max(added[i] * -1, 0);
    added[i] = sym_max(added[i], 0);
    cuts = true;
  }
  if (call.def().name == Name("aten.constant_pad_nd.default")) {
    // The kernel fails where there is nothing to write.
    TRY(const std::vector<Type> types, infer_pad(call));
    const TensorType& type = types[0].tensor;
    const bool is_empty = std::ranges::any_of(type.sizes, [](const SymInt& size) { return size == 0; });
    if (is_empty) return one(b.call("aten.full.default", {type.sizes, 0, type.dtype}));
  }
  if (!cuts) return std::vector<Value*>{};
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  args[1] = added;
  Value* x = b.call(call.def().name.str(), args);
  for (std::size_t i = 0; i < cut.size() / 2 && x != nullptr; ++i) {
    if (cut[2 * i] == 0 && cut[2 * i + 1] == 0) continue;
    std::size_t dim = x->tensor().rank() - 1 - i;
    Argument begin = b.size(cut[2 * i]);
    Argument end = b.size(x->tensor().sizes[dim] - cut[2 * i + 1]);
    x = b.call("aten.slice.Tensor", {x, static_cast<std::int64_t>(dim), begin, end});
  }
  return one(x);
}

// Copies the last elements to the front and the first ones to the end, dimension by dimension.
Replacement pad_circular(Builder& b, const OpCall& call) {
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  if (!call.is_constant_ints("pad")) return type_error("circular padding requires constant widths");
  Ints pad = call.ints("pad");
  Value* x = b.own(call.value("self"));
  TRY(std::vector<Type> types, infer_pad(call));
  const TensorType& type = types[0].tensor;
  // The parts may be empty, and cat skips these.
  if (std::ranges::any_of(type.sizes, [](const SymInt& size) { return size == 0; })) {
    return one(b.call("aten.full.default", {type.sizes, 0, type.dtype}));
  }
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    auto dim = static_cast<std::int64_t>(x->tensor().rank() - 1 - i);
    std::int64_t front = pad[2 * i], behind = pad[2 * i + 1];
    if (front < 0) x = b.call("aten.slice.Tensor", {x, dim, -front, end});
    if (behind < 0) x = b.call("aten.slice.Tensor", {x, dim, 0, behind});
    Value* whole = x;
    std::vector<Value*> parts;
    if (front > 0) parts.push_back(b.call("aten.slice.Tensor", {whole, dim, -front, end}));
    parts.push_back(x);
    if (behind > 0) parts.push_back(b.call("aten.slice.Tensor", {whole, dim, 0, behind}));
    if (parts.size() > 1) x = b.call("aten.cat.default", {parts, dim});
  }
  return one(x == call.value("self") ? b.call("aten.alias.default", {x}) : x);
}

Replacement pad(Builder& b, const OpCall& call) {
  std::string_view mode = call.text("mode");
  if (mode == "circular") return pad_circular(b, call);
  if (mode == "constant") {
    Argument value = call["value"].is_none() ? Argument::of(0) : call["value"];
    return one(b.call("aten.constant_pad_nd.default", {call["self"], call["pad"], value}));
  }
  std::size_t dims = as_dims(call["pad"]).size() / 2;
  bool is_known = (mode == "reflect" || mode == "replicate") && dims >= 1 && dims <= 3;
  if (!is_known)
    return type_error(fmt::format("padding mode '{}' over {} dimensions is not supported", mode, dims));
  std::string_view name = mode == "reflect" ? "reflection_pad" : "replication_pad";
  return one(b.call(fmt::format("aten.{}{}d.default", name, dims), {call["self"], call["pad"]}));
}

constexpr OpRules padding(const char* out) {
  return {.flags = Core,
          .out = out,
          .infer = infer_pad,
          .decompose = pad_and_cut,
          .identity = is_no_padding,
          .on_complex = each_part};
}

}  // namespace

std::span<const OpLine> combining_ops() {
  static constexpr OpLine lines[] = {
      {"aten.cat(Tensor[] tensors, int dim=0)",
       row_by_row(in_autocast(AutocastPromote,
                              on_complex(each_part, fitted(sized_when_empty, {.flags = Core | Concat,
                                                                              .out = "cat.out",
                                                                              .infer = infer_cat,
                                                                              .decompose = cat}))))},
      {"aten.concat(Tensor[] tensors, int dim=0)", composite(infer_cat, text<"cat(tensors, dim)">)},
      {"aten.concatenate(Tensor[] tensors, int dim=0)", composite(infer_cat, text<"cat(tensors, dim)">)},
      {"aten.stack(Tensor[] tensors, int dim=0)", in_autocast(AutocastPromote, derived(stack))},
      {"aten.constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0)", padding("constant_pad_nd.out")},
      {"aten.reflection_pad1d(Tensor self, SymInt[2] padding)",
       in_autocast(AutocastF32, padding("reflection_pad1d.out"))},
      {"aten.reflection_pad2d(Tensor self, SymInt[4] padding)",
       in_autocast(AutocastF32, padding("reflection_pad2d.out"))},
      {"aten.reflection_pad3d(Tensor self, SymInt[6] padding)", padding("reflection_pad3d.out")},
      {"aten.replication_pad1d(Tensor self, SymInt[2] padding)",
       in_autocast(AutocastF32, padding("replication_pad1d.out"))},
      {"aten.replication_pad2d(Tensor self, SymInt[4] padding)",
       in_autocast(AutocastF32, padding("replication_pad2d.out"))},
      {"aten.replication_pad3d(Tensor self, SymInt[6] padding)",
       in_autocast(AutocastF32, padding("replication_pad3d.out"))},
      {"aten.pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None)",
       in_autocast(AutocastF32, {.infer = infer_pad, .decompose = pad})},
      {"aten._pad_circular(Tensor self, SymInt[] pad)", {.infer = infer_pad, .decompose = pad_circular}},
  };
  return lines;
}

}  // namespace depute::internal
