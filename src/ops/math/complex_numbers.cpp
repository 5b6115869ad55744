// Ops that build complex tensors from real ones, or the reverse.
//
//   %z = aten.view_as_complex.default(%x: f32[4, 2])     ->    complex(select(x, -1, 0), select(x, -1, 1))
//   %s = aten.polar.default(%r, %phi)                    ->    complex(r * cos(phi), r * sin(phi))
//   %y = aten.view_as_real.default(%s)                   ->    stack([r * cos(phi), r * sin(phi)], -1)
#include <fmt/format.h>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/complex_forms.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Returns a real tensor unchanged; on_complex handles complex tensors.
Replacement alias_of_real(Builder& b, const OpCall& call) {
  if (is_complex(call.tensor("self").dtype)) return std::vector<Value*>{};
  return to_alias(b, call);
}
// Infers a complex result from a first argument of the part type.
Types infer_of_parts(const OpCall& call) {
  TRY(std::vector<Type> types, infer_like_first(call));
  return tensor_result(complex_of(types[0].tensor.dtype), types[0].tensor.sizes);
}
Types infer_as_real(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (!is_complex(self.dtype)) return argument_error("view_as_real requires a complex tensor");
  Dims sizes = self.sizes;
  sizes.push_back(2);
  return tensor_result(part_of(self.dtype), std::move(sizes));
}
Types infer_as_complex(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() == 0 || !is_floating(self.dtype))
    return argument_error("view_as_complex requires a last dimension of size 2");
  return tensor_result(complex_of(self.dtype), Dims(self.sizes.begin(), self.sizes.end() - 1));
}

// Returns a part of an input of the program.
Value* leaf_part(Builder& b, Value* x, int which) {
  return b.call("aten.select.int", {b.call("aten.view_as_real_copy.default", {x}), -1, which});
}
template <int which>
Replacement known_or_leaf_part(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  Value* known = known_part(b, x, which);
  return one(known != nullptr ? known : leaf_part(b, x, which));
}
Replacement as_real(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  return one(b.call("aten.stack.default", {std::vector<Value*>{real_part(b, x), imaginary_part(b, x)}, -1}));
}
Replacement view_as_complex(Builder& b, const OpCall& call) {
  const auto at = [&](int which) { return b.call("aten.select.int", {call["self"], -1, which}); };
  Value* real = at(0);
  return one(complex_value_of(b, real, at(1)));
}
Replacement conjugated(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  Value* negative = b.call("aten.mul.Tensor", {imaginary_part(b, x), -1.0});  // 0 becomes -0 for all elements
  return one(complex_value_of(b, real_part(b, x), negative));
}
Replacement of_angle(Builder& b, const OpCall& call) {
  const Term size = tensor_operand(b, call, "abs"), angle = tensor_operand(b, call, "angle");
  const Term x = size * cos(angle), y = size * sin(angle);
  return one(complex_value_of(b, x.value(), y.value()));
}

// --- writes through views

Result<Value*> write_real(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t) {
  if (!is_complex(call.tensor("self").dtype)) return updated;
  return complex_value_of(b, updated, b.call("aten.imag.default", {base}));
}
Result<Value*> write_imaginary(Builder& b, const OpCall&, Value* base, Value* updated, std::size_t) {
  return complex_value_of(b, b.call("aten.real.default", {base}), updated);
}
Result<Value*> write_as_real(Builder& b, const OpCall&, Value*, Value* updated, std::size_t) {
  return b.call("aten.view_as_complex.default", {updated});
}
Result<Value*> write_as_complex(Builder& b, const OpCall&, Value*, Value* updated, std::size_t) {
  return b.call("aten.view_as_real.default", {updated});
}
Replacement negated(Builder& b, const OpCall& call) {
  return one(b.call("aten.neg.default", {b.own(call.value("self"))}));
}
// For views that are their own inverse.
Result<Value*> write_inverse(Builder& b, const OpCall& call, Value*, Value* updated, std::size_t) {
  return b.call(call.def().name.str(), {updated});
}

constexpr OpRules reading_part(DecomposeFunction form, WriteBackFunction write) {
  return {.flags = View,
          .infer = infer_part,
          .decompose = alias_of_real,
          .write_back = write,
          .on_complex = form};
}
// Ops that return real tensors unchanged.
constexpr OpRules resolving(DecomposeFunction form, OpFlag flags = MayView,
                            WriteBackFunction write = write_whole) {
  return {.flags = flags,
          .view_kind = ViewKind::Reshape,
          .infer = infer_same_type,
          .decompose = alias_of_real,
          .write_back = write,
          .on_complex = form};
}

}  // namespace

std::span<const OpLine> complex_number_ops() {
  static constexpr OpLine lines[] = {
      {"aten.complex(Tensor real, Tensor imag)",
       {.flags = Core, .infer = infer_of_parts, .fit = complex_by_transform}},
      {"aten.polar(Tensor abs, Tensor angle)", in_autocast(AutocastF32, composite(infer_of_parts, of_angle))},
      {"aten.real(Tensor(a) self) -> Tensor(a)", reading_part(known_or_leaf_part<0>, write_real)},
      {"aten.imag(Tensor(a) self) -> Tensor(a)", reading_part(known_or_leaf_part<1>, write_imaginary)},
      {"aten.view_as_real(Tensor(a) self) -> Tensor(a)",
       {.flags = View,
        .infer = infer_as_real,
        .decompose = text<"view_as_real_copy(self)">,
        .write_back = write_as_real,
        .on_complex = as_real}},
      {"aten.view_as_real_copy(Tensor self)",
       accepting("self any", kernel("view_as_real_copy.out", infer_as_real))},
      {"aten.view_as_complex(Tensor(a) self) -> Tensor(a)",
       in_autocast(AutocastF32, {.flags = View,
                                 .infer = infer_as_complex,
                                 .write_back = write_as_complex,
                                 .on_complex = view_as_complex})},
      {"aten.view_as_complex_copy(Tensor self)", composite(infer_as_complex, view_as_complex)},
      {"aten.conj(Tensor(a) self) -> Tensor(a)", resolving(conjugated, View, write_inverse)},
      {"aten._conj(Tensor(a) self) -> Tensor(a)", resolving(conjugated, View, write_inverse)},
      {"aten._neg_view(Tensor(a) self) -> Tensor(a)",
       {.flags = View,
        .view_kind = ViewKind::Reshape,
        .infer = infer_same_type,
        .decompose = negated,
        .write_back = write_inverse,
        .on_complex = negated}},
      {"aten.conj_physical(Tensor self)", resolving(conjugated, InPlaceVariant)},
      {"aten._conj_physical(Tensor self)", resolving(conjugated, None)},
      {"aten.resolve_conj(Tensor(a) self) -> Tensor(a)", resolving(to_alias)},
      {"aten.resolve_neg(Tensor(a) self) -> Tensor(a)", resolving(to_alias)},
  };
  return lines;
}

}  // namespace depute::internal
