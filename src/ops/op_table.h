// What the families' tables are written in: a schema line and the rules of one op.
//
//   {"aten.relu.default(Tensor self) -> Tensor", unary("relu.out", inplace_twin)},
//
// The functions unary, binary, ... give the rules of whole classes, so that most lines are no more than this.
// Names of out variants without a namespace belong to aten.
#pragma once

#include <span>

#include "depute/infer.h"
#include "depute/op.h"
#include "ops/families.h"

namespace depute::internal {

using enum OpFlag;

struct OpRules {
  OpFlag flags = no_flags;
  OpOrigin origin = OpOrigin::Torch;
  ViewKind view_kind = ViewKind::None;
  const char* out = nullptr;  // ExecuTorch's kernel: "add.out"
  // torch's overload with out tensors and their names, "max.dim_max: max max_values", where they do not
  // follow from the kernel's name, or the op's: "aten.add.Scalar_out" and "out" or the names of the results.
  const char* out_variant = nullptr;
  const char* promotes = nullptr;  // arguments that are brought to one type: "self other"
  InferFunction infer = nullptr;
  DecomposeFunction decompose = nullptr;
  IdentityFunction identity = nullptr;
  WriteBackFunction write_back = nullptr;
  const char* chosen_from = nullptr;  // an argument's name: OpDef::chosen_from
  const char* chosen_by = nullptr;    // the argument whose elements other than 0 choose
  const char* functional = nullptr;   // of an in-place op that has a line of its own
  const char* accepts = nullptr;      // what the kernel takes: "self f32 f64; index i64" (kernel_rules.h)
  DecomposeFunction fit = nullptr;    // the form of a call that the kernel computes right
  DecomposeFunction on_complex = nullptr;  // the call by real and imaginary parts (complex_forms.h)
  MacsFunction macs = nullptr;             // of what is made of products (macs.h)
};

// An IdentityFunction: calls of these ops are always their argument.
inline bool always(const OpCall&) {
  return true;
}

struct OpLine {
  const char* schema;
  OpRules rules;
};

// pointwise_ops() and so on.
#define DEPUTE_DECLARE_OPS(family) std::span<const OpLine> family##_ops();
DEPUTE_OP_FAMILIES(DEPUTE_DECLARE_OPS)
#undef DEPUTE_DECLARE_OPS

// --- rules of classes

// One tensor in, the same type out.
constexpr OpRules unary(const char* out, OpFlag flags = no_flags) {
  return {.flags = core | pointwise | flags, .out = out, .infer = infer_like_first};
}
// One tensor in, the same sizes out; integers become floats.
constexpr OpRules unary_float(const char* out, OpFlag flags = no_flags) {
  return {.flags = core | pointwise | promotes_to_float | flags,
          .out = out,
          .promotes = "self",
          .infer = infer_promoted};
}
constexpr OpRules unary_bool(const char* out, OpFlag flags = no_flags) {
  return {.flags = core | pointwise | flags, .out = out, .infer = infer_bool};
}
// Two operands that are broadcast and promoted to one type, which the result has.
constexpr OpRules binary(const char* out, OpFlag flags = no_flags) {
  return {.flags = core | pointwise | flags, .out = out, .promotes = "self other", .infer = infer_promoted};
}
// Two operands that are broadcast and promoted to one type; a result of bools.
constexpr OpRules comparison(const char* out) {
  return {
      .flags = core | pointwise | inplace_twin, .out = out, .promotes = "self other", .infer = infer_bool};
}
// Rules, and the name of the overload with out tensors: OpRules::out_variant.
constexpr OpRules written_by(const char* out_variant, OpRules rules) {
  rules.out_variant = out_variant;
  return rules;
}
// An op that torch defines by others.
constexpr OpRules composite(InferFunction infer, DecomposeFunction decompose, OpFlag flags = no_flags) {
  return {.flags = flags, .infer = infer, .decompose = decompose};
}
constexpr OpRules composite_pointwise(DecomposeFunction decompose, OpFlag flags = no_flags) {
  return {.flags = pointwise | flags, .infer = infer_like_first, .decompose = decompose};
}
// An op that stays as it is and has its own rule for result types.
constexpr OpRules kernel(const char* out, InferFunction infer, OpFlag flags = no_flags) {
  return {.flags = core | flags, .out = out, .infer = infer};
}
// Rules, and what the kernel takes (kernel_rules.h).
constexpr OpRules accepting(const char* accepts, OpRules rules) {
  rules.accepts = accepts;
  return rules;
}
// Rules, and the form of calls that the kernel does not compute right.
constexpr OpRules fitted(DecomposeFunction fit, OpRules rules) {
  rules.fit = fit;
  return rules;
}
// Rules, and the form of calls of complex tensors.
constexpr OpRules on_complex(DecomposeFunction form, OpRules rules) {
  rules.on_complex = form;
  return rules;
}
// Rules, and what the call costs in multiplications.
constexpr OpRules counting(MacsFunction macs, OpRules rules) {
  rules.macs = macs;
  return rules;
}
// Rules, and the argument that the result has some elements of. `by` is the argument whose elements other
// than 0 tell which.
constexpr OpRules choosing(const char* argument, OpRules rules, const char* by = nullptr) {
  rules.chosen_from = argument;
  rules.chosen_by = by;
  return rules;
}
// Rules, and the element type inside of torch.autocast: autocast_lower, autocast_f32, ...
constexpr OpRules in_autocast(OpFlag type, OpRules rules) {
  rules.flags = rules.flags | type;
  return rules;
}
// Rules of an op that works along a dimension alone: along_dim.
constexpr OpRules row_by_row(OpRules rules) {
  rules.flags = rules.flags | along_dim;
  return rules;
}
// A line without rules: the op is known, its nodes keep the types their file gave them.
constexpr OpRules opaque(OpFlag flags = no_flags, const char* out = nullptr) {
  return {.flags = flags, .out = out};
}
// An op of the compiler's own: what it means is up to the steps that make and read it.
constexpr OpRules own_op(OpFlag flags = no_flags) {
  return {.flags = flags, .origin = OpOrigin::Compiler};
}

}  // namespace depute::internal
