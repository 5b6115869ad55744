// Tensors created from numbers. All constants become aten.full.default, all ranges aten.arange.start_step.
#include <cmath>
#include <limits>

#include "depute/program/builder.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Types infer_filled(const OpCall& call) {
  return tensor_result(dtype_or(call, ScalarType::F32), as_dims(call["size"]));
}
Types infer_full(const OpCall& call) {
  return tensor_result(dtype_or(call, scalar_type_of(call["fill_value"])), as_dims(call["size"]));
}
Types infer_new(const OpCall& call) {
  return tensor_result(dtype_or(call, call.tensor("self").dtype), as_dims(call["size"]));
}
Types infer_like(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  return tensor_result(dtype_or(call, self.dtype), self.sizes);
}
Types infer_scalar_tensor(const OpCall& call) {
  return tensor_result(dtype_or(call, ScalarType::F32), {});
}

// Returns a filled tensor of the call's result type.
Replacement filled(Builder& b, const OpCall& call, const Argument& value) {
  TRY(std::vector<Type> types, call.def().infer(call));
  const TensorType& type = types[0].tensor;
  return one(b.call("aten.full.default", {type.sizes, value, type.dtype}));
}
Replacement with_zeros(Builder& b, const OpCall& call) {
  return filled(b, call, Argument::of(0));
}
Replacement with_ones(Builder& b, const OpCall& call) {
  return filled(b, call, Argument::of(1));
}
Replacement with_value(Builder& b, const OpCall& call) {
  return filled(b, call, call["fill_value"]);
}

// Fills like another tensor: with its sizes if they are static; otherwise the kernel reads them.
Replacement like(Builder& b, const OpCall& call, const Argument& value) {
  if (call.tensor("self").is_static()) return filled(b, call, value);
  TRY(std::vector<Type> types, infer_like(call));
  if (call.def().name == "aten.full_like.default") return std::vector<Value*>{};
  return one(b.call("aten.full_like.default", {call["self"], value, types[0].tensor.dtype}));
}
Replacement like_zeros(Builder& b, const OpCall& call) {
  return like(b, call, Argument::of(0));
}
Replacement like_ones(Builder& b, const OpCall& call) {
  return like(b, call, Argument::of(1));
}
Replacement like_value(Builder& b, const OpCall& call) {
  return like(b, call, call["fill_value"]);
}

Replacement scalar_tensor(Builder& b, const OpCall& call) {
  if (!call["s"].is_number()) return std::vector<Value*>{};
  return filled(b, call, call["s"]);
}

// --- ranges

bool is_float(const Argument& number) {
  return scalar_type_of(number) == ScalarType::F32;
}

struct RangeArguments {
  Argument start = Argument::of(0), end, step = Argument::of(1);
};

// For an i64 result, torch truncates the three numbers first.
void drop_fractions(Argument& number) {
  if (number.kind != Argument::Kind::Float || std::fabs(number.as_double()) >= 0x1p63) return;
  number = Argument::of(static_cast<std::int64_t>(number.as_double()));
}

RangeArguments range_arguments(const OpCall& call) {
  RangeArguments range;
  for (std::size_t i = 0; i < call.args().size(); ++i) {
    std::string_view name = call.def().args[i].name.str();
    if (name == "start") range.start = call[i];
    if (name == "end") range.end = call[i];
    if (name == "step") range.step = call[i];
  }
  if (dtype_or(call, ScalarType::F32) == ScalarType::I64) {
    for (Argument* number : {&range.start, &range.end, &range.step}) drop_fractions(*number);
  }
  return range;
}

// Returns ceil((end - start) / step).
Result<SymInt> range_size(const RangeArguments& r) {
  if (is_float(r.start) || is_float(r.end) || is_float(r.step)) {
    if (!r.start.is_number() || !r.end.is_number() || !r.step.is_number() || r.step.as_double() == 0) {
      return type_error("arange of floats requires constant arguments");
    }
    double count = std::ceil((r.end.as_double() - r.start.as_double()) / r.step.as_double());
    if (!(count >= 0 && count < 1e15)) return type_error("arange has a negative or infinite length");
    return SymInt(static_cast<std::int64_t>(count));
  }
  SymInt start = as_sym_int(r.start), end = as_sym_int(r.end), step = as_sym_int(r.step);
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (!step.is_constant() || step.value() == 0 || step.value() < -limit) {
    return type_error("arange requires a constant step");
  }
  SymInt span = step.value() > 0 ? end - start : start - end;
  std::int64_t stride = std::abs(step.value());
  SymInt size = floor_div(span + (stride - 1), stride);
  if (size.is_constant() && size.value() < 0) return argument_error("arange has a negative length");
  return size;
}

Types infer_arange(const OpCall& call) {
  RangeArguments range = range_arguments(call);
  TRY(SymInt size, range_size(range));
  bool floats = is_float(range.start) || is_float(range.end) || is_float(range.step);
  return tensor_result(dtype_or(call, floats ? ScalarType::F32 : ScalarType::I64), {size});
}
Replacement arange(Builder& b, const OpCall& call) {
  RangeArguments range = range_arguments(call);
  TRY(std::vector<Type> types, infer_arange(call));
  return one(b.call("aten.arange.start_step", {range.start, range.end, range.step, types[0].tensor.dtype}));
}

// Truncates the numbers: the kernel computes start + i * step in f64 and keeps fractions.
Replacement whole_range(Builder& b, const OpCall& call) {
  const RangeArguments range = range_arguments(call);
  const bool had_fractions = is_float(call["start"]) || is_float(call["end"]) || is_float(call["step"]);
  const bool has_fractions = is_float(range.start) || is_float(range.end) || is_float(range.step);
  return had_fractions && !has_fractions ? arange(b, call) : std::vector<Value*>{};
}

constexpr OpRules making(InferFunction infer, DecomposeFunction decompose) {
  return {.infer = infer, .decompose = decompose};
}

}  // namespace

std::span<const OpLine> creation_ops() {
  static constexpr OpLine lines[] = {
      {"aten.full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...)",
       on_complex(each_part, kernel("full.out", infer_full))},
      {"aten.full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, ..., MemoryFormat? "
       "memory_format=None)",
       on_complex(each_part,
                  {.flags = Core, .out = "full_like.out", .infer = infer_like, .decompose = like_value})},
      {"aten.zeros(SymInt[] size, *, ScalarType? dtype=None, ...)", making(infer_filled, with_zeros)},
      {"aten.ones(SymInt[] size, *, ScalarType? dtype=None, ...)", making(infer_filled, with_ones)},
      {"aten.empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, ..., MemoryFormat? "
       "memory_format=None)",
       written_by("empty.out", making(infer_filled, with_zeros))},
      {"aten.empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, ...)",
       making(infer_filled, with_zeros)},
      {"aten.new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...)",
       making(infer_new, with_value)},
      {"aten.new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...)",
       making(infer_new, with_zeros)},
      {"aten.new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...)",
       making(infer_new, with_ones)},
      {"aten.new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...)",
       making(infer_new, with_zeros)},
      {"aten.zeros_like(Tensor self, *, ScalarType? dtype=None, ..., MemoryFormat? memory_format=None)",
       making(infer_like, like_zeros)},
      {"aten.ones_like(Tensor self, *, ScalarType? dtype=None, ..., MemoryFormat? memory_format=None)",
       making(infer_like, like_ones)},
      {"aten.empty_like(Tensor self, *, ScalarType? dtype=None, ..., MemoryFormat? memory_format=None)",
       making(infer_like, like_zeros)},
      {"aten.zero(Tensor self)", composite(infer_same_type, like_zeros, InPlaceVariant)},
      {"aten.fill.Scalar(Tensor self, Scalar value)",
       composite(infer_same_type, text<"full_like(self, value)">, InPlaceVariant)},
      {"aten.fill.Tensor(Tensor self, Tensor value)",
       composite(infer_same_type, text<"copy(self, value)">, InPlaceVariant)},
      {"aten.scalar_tensor(Scalar s, *, ScalarType? dtype=None, ...)",
       on_complex(each_part, {.flags = Core,
                              .out = "scalar_tensor.out",
                              .infer = infer_scalar_tensor,
                              .decompose = scalar_tensor})},
      {"aten.arange(Scalar end, *, ScalarType? dtype=None, ...)", making(infer_arange, arange)},
      {"aten.arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, ...)",
       making(infer_arange, arange)},
      {"aten.arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, ...)",
       {.flags = Core, .out = "arange.start_out", .infer = infer_arange, .decompose = whole_range}},
  };
  return lines;
}

}  // namespace depute::internal
