// The notation of the families' tables: a schema line and the rules of one op.
//
//   {"aten.relu(Tensor self)", unary("relu.out", InPlaceVariant)},
//
// A line is a schema in PyTorch's notation without what most have (full_schema() in schema.h): the
// overload "default", a Tensor as the result, and layout, device and pin_memory of new tensors, which are
// "...".
//
// The functions unary, binary, ... return the rules of whole classes, so most lines need nothing else. Names
// of out variants without a namespace belong to aten.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "ops/families.h"

namespace depute::internal {

using enum OpFlag;
using Ints = std::vector<std::int64_t>;

struct OpRules {
  OpFlag flags = None;
  OpOrigin origin = OpOrigin::Torch;
  ViewKind view_kind = ViewKind::None;
  const char* out = nullptr;  // ExecuTorch's kernel: "add.out"
  // The torch overload with out tensors, and their names: "max.dim_max: max max_values". Needed only if they
  // differ from the kernel's name or the default: "aten.add.Scalar_out", and "out" or the result names.
  const char* out_variant = nullptr;
  const char* promotes = nullptr;  // arguments promoted to one type: "self other"
  InferFunction infer = nullptr;
  DecomposeFunction decompose = nullptr;
  IdentityFunction identity = nullptr;
  WriteBackFunction write_back = nullptr;
  const char* data_dependent_size = nullptr;  // name of an argument: OpDef::data_dependent_size
  const char* chosen_by = nullptr;            // the argument whose nonzero elements select
  const char* functional = nullptr;           // functional op of an in-place op with a line of its own
  const char* accepts = nullptr;    // what the kernel accepts: "self f32 f64; index i64" (kernel_rules.h)
  DecomposeFunction fit = nullptr;  // rewrites calls that the kernel computes wrongly
  DecomposeFunction on_complex = nullptr;  // rewrites a call in real and imaginary parts (complex_forms.h)
  MacsFunction macs = nullptr;             // for product-like ops (macs.h)
  const char* same_as = nullptr;           // the op that this is another name of (rename.h)
  bool has_scalar = false;                 // the op also takes a number as `other` (out_variant.h)
};

// An IdentityFunction for ops that always return their argument.
inline bool always(const OpCall&) {
  return true;
}

// A text as a template's argument.
template <std::size_t size>
struct Text {
  char chars[size];
  consteval Text(const char (&text)[size]) { std::copy_n(text, size, chars); }  // NOLINT: a conversion
  constexpr operator std::string_view() const { return {chars, size - 1}; }     // NOLINT: a conversion
};

struct OpLine {
  const char* schema;
  OpRules rules;
};

// Declares pointwise_ops() and so on.
#define DEPUTE_DECLARE_OPS(family) std::span<const OpLine> family##_ops();
DEPUTE_OP_FAMILIES(DEPUTE_DECLARE_OPS)
#undef DEPUTE_DECLARE_OPS

// A decomposition with further arguments: given<extreme, true>.
template <auto rule, auto... arguments>
Replacement given(Builder& b, const OpCall& call) {
  return rule(b, call, arguments...);
}

// --- rules for classes of ops

// One tensor; the result has its type.
constexpr OpRules unary(const char* out, OpFlag flags = None) {
  return {.flags = Core | Pointwise | flags, .out = out, .infer = infer_like_first};
}
// One tensor; the result has its sizes, and integers become floats.
constexpr OpRules unary_float(const char* out, OpFlag flags = None) {
  return {.flags = Core | Pointwise | PromotesToFloat | flags,
          .out = out,
          .promotes = "self",
          .infer = infer_promoted};
}
constexpr OpRules unary_bool(const char* out, OpFlag flags = None) {
  return {.flags = Core | Pointwise | flags, .out = out, .infer = infer_bool};
}
// Two operands, broadcast and promoted to one type, which is the result's.
constexpr OpRules binary(const char* out, OpFlag flags = None) {
  return {.flags = Core | Pointwise | flags, .out = out, .promotes = "self other", .infer = infer_promoted};
}
// Two operands, broadcast and promoted to one type; the result is bool.
constexpr OpRules comparison(const char* out) {
  return {
      .flags = Core | Pointwise | InPlaceVariant, .out = out, .promotes = "self other", .infer = infer_bool};
}
// Adds the overload with out tensors: OpRules::out_variant.
constexpr OpRules written_by(const char* out_variant, OpRules rules) {
  rules.out_variant = out_variant;
  return rules;
}
// Adds the overload with a number in place of the tensor `other`.
constexpr OpRules with_scalar(OpRules rules) {
  rules.has_scalar = true;
  return rules;
}
// An op that torch composes of others.
constexpr OpRules composite(InferFunction infer, DecomposeFunction decompose, OpFlag flags = None) {
  return {.flags = flags, .infer = infer, .decompose = decompose};
}
// Its result types follow from the decomposition (derived_types.h).
constexpr OpRules derived(DecomposeFunction decompose, OpFlag flags = None) {
  return {.flags = flags, .decompose = decompose};
}
constexpr OpRules composite_pointwise(DecomposeFunction decompose, OpFlag flags = None) {
  return {.flags = Pointwise | flags, .infer = infer_like_first, .decompose = decompose};
}
// An op that is not decomposed, with a rule of its own for result types.
constexpr OpRules kernel(const char* out, InferFunction infer, OpFlag flags = None) {
  return {.flags = Core | flags, .out = out, .infer = infer};
}
// Adds what the kernel accepts (kernel_rules.h).
constexpr OpRules accepting(const char* accepts, OpRules rules) {
  rules.accepts = accepts;
  return rules;
}
// Adds the form of calls that the kernel computes wrongly.
constexpr OpRules fitted(DecomposeFunction fit, OpRules rules) {
  rules.fit = fit;
  return rules;
}
// Adds the form of calls with complex tensors.
constexpr OpRules on_complex(DecomposeFunction form, OpRules rules) {
  rules.on_complex = form;
  return rules;
}
// Adds the cost of calls in multiplications.
constexpr OpRules counting(MacsFunction macs, OpRules rules) {
  rules.macs = macs;
  return rules;
}
// Adds the argument from which the result selects elements. `by` is the argument whose nonzero elements
// select them.
constexpr OpRules choosing(const char* argument, OpRules rules, const char* by = nullptr) {
  rules.data_dependent_size = argument;
  rules.chosen_by = by;
  return rules;
}
// Adds the element type inside torch.autocast: autocast_lower, autocast_f32, ...
constexpr OpRules in_autocast(OpFlag type, OpRules rules) {
  rules.flags = rules.flags | type;
  return rules;
}
// Marks an op that works along one dimension only: along_dim.
constexpr OpRules row_by_row(OpRules rules) {
  rules.flags = rules.flags | AlongDim;
  return rules;
}
// A known op without rules; its nodes keep the types of their file.
constexpr OpRules opaque(OpFlag flags = None, const char* out = nullptr) {
  return {.flags = flags, .out = out};
}
// An op of the compiler; the steps that create and read it define its meaning.
constexpr OpRules own_op(OpFlag flags = None) {
  return {.flags = flags, .origin = OpOrigin::Compiler};
}

}  // namespace depute::internal
