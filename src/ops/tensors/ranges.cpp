// Tensors computed from a range: evenly spaced numbers, powers, and comparisons with a range. Parts that
// depend on no input are folded into constants.
//
//   aten.linspace.default(0, 1, 5)            ->   start + step * arange, from both ends: f32[5]
//   aten.one_hot.default(i64[3], 4)           ->   x[:, None] == arange(4), as i64
//   aten.vander.default(f32[3])               ->   x[:, None] ^ arange(2, -1, -1)
#include <cmath>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

bool is_tensor(const Argument& argument) {
  return argument.is_value() && argument.as_value()->type().is_tensor();
}

// --- linspace, logspace

Types infer_spaced(const OpCall& call) {
  std::int64_t steps = call.integer("steps");
  if (steps < 0) return argument_error("the number of steps must not be negative");
  for (const std::string_view end : {"start", "end"})
    if (is_tensor(call[end]) && is_complex(call.tensor(end).dtype))
      return type_error("a range of complex numbers is not supported");
  return tensor_result(dtype_or(call, ScalarType::F32), {steps});
}

// Returns the type to compute numbers in before they are rounded to `dtype`.
ScalarType computed_in(ScalarType dtype) {
  return is_integral(dtype) || dtype == ScalarType::F64 ? ScalarType::F64 : ScalarType::F32;
}

// Returns an end of the range in the type to compute in. Ranges of integers have integer ends.
Value* end_of_range(Builder& b, const OpCall& call, std::string_view name, ScalarType dtype) {
  const Argument& end = call[name];
  Value* value = is_tensor(end) ? b.call("aten._to_copy.default", {end, dtype})
                                : b.call("aten.full.default", {Dims{}, end, dtype});
  const ScalarType own = dtype_or(call, ScalarType::F32);
  const bool is_cut = is_integral(own) && call.integer("steps") > 1;
  if (!is_cut) return value;
  const bool may_wrap = own == ScalarType::U8 && end.is_number() && std::fabs(end.as_double()) < 0x1p31;
  if (may_wrap) {
    const auto byte = static_cast<std::uint8_t>(static_cast<std::int64_t>(end.as_double()));
    return b.call("aten.full.default", {Dims{}, static_cast<std::int64_t>(byte), dtype});
  }
  if (!is_tensor(end)) return b.call("aten.trunc.default", {value});
  return to_dtype(b, to_dtype(b, b.own(end.as_value()), own), dtype);  // -4 as u8 is 252
}

// Computes the first half from the start and the other from the end, so that both ends are exact.
Value* spaced(Builder& b, const OpCall& call, ScalarType dtype) {
  std::int64_t steps = call.integer("steps");
  Value* start = end_of_range(b, call, "start", dtype);
  if (steps <= 1) return b.call("aten.expand.default", {start, Dims{steps}});
  Value* end = end_of_range(b, call, "end", dtype);
  Value* range = b.call("aten.sub.Tensor", {end, start});
  Value* step = b.call("aten.div.Scalar", {range, static_cast<double>(steps - 1)});
  Value* up = b.call("aten.arange.start_step", {0, steps, 1, dtype});
  Value* down = b.call("aten.arange.start_step", {steps - 1, -1, -1, dtype});
  Value* first = b.call("aten.add.Tensor", {start, b.call("aten.mul.Tensor", {up, step})});
  Value* last = b.call("aten.sub.Tensor", {end, b.call("aten.mul.Tensor", {down, step})});
  Value* is_first = b.call("aten.lt.Scalar", {up, static_cast<double>(steps / 2)});
  return b.call("aten.where.self", {is_first, first, last});
}
Replacement rounded(Builder& b, const OpCall& call, Value* numbers) {
  return one(to_dtype(b, numbers, dtype_or(call, ScalarType::F32)));
}
Replacement linspace(Builder& b, const OpCall& call) {
  return rounded(b, call, spaced(b, call, computed_in(dtype_or(call, ScalarType::F32))));
}
Replacement logspace(Builder& b, const OpCall& call) {
  Value* powers = spaced(b, call, computed_in(dtype_or(call, ScalarType::F32)));
  return rounded(b, call, b.call("aten.pow.Scalar", {call["base"], powers}));
}

// --- comparisons with a range

Types infer_one_hot(const OpCall& call) {
  std::int64_t classes = call.integer("num_classes");
  Dims sizes = call.tensor("self").sizes;
  const Type* declared = call.node() == nullptr ? nullptr : &call.node()->result()->type();
  const bool is_declared =
      declared != nullptr && declared->is_tensor() && declared->tensor.rank() == sizes.size() + 1;
  sizes.push_back(classes < 0 && is_declared ? declared->tensor.sizes.back() : SymInt(classes));
  return tensor_result(ScalarType::I64, std::move(sizes));
}
Replacement one_hot(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_one_hot(call));
  const SymInt& classes = types[0].tensor.sizes.back();
  if (!classes.is_constant())
    return type_error("one_hot requires num_classes; without it, the result has a data-dependent size");
  Value* range = b.call("aten.arange.start_step", {0, b.size(classes)});
  Value* column = b.call("aten.unsqueeze.default", {call["self"], -1});
  return one(b.call("aten._to_copy.default", {b.call("aten.eq.Tensor", {column, range}), ScalarType::I64}));
}

// --- powers

Types infer_vander(const OpCall& call) {
  const TensorType& x = call.tensor("x");
  bool is_linalg = call.def().arg_index(Name("increasing")) < 0;
  if (!is_linalg && x.rank() != 1) return argument_error("vander requires a tensor of rank 1");
  Dims sizes = x.rank() == 0 ? Dims{1} : x.sizes;
  sizes.push_back(call["N"].is_none() ? sizes.back() : as_sym_int(call["N"]));
  bool is_number = is_floating(x.dtype) || is_complex(x.dtype);
  return tensor_result(is_number ? x.dtype : ScalarType::I64, std::move(sizes));
}
Replacement vander(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_vander(call));
  const TensorType& type = types[0].tensor;
  bool is_increasing = call.def().arg_index(Name("increasing")) < 0 || call.boolean("increasing");
  Value* x = b.own(call.value("x"));
  const bool is_half = is_half_precision(type.dtype);
  ScalarType dtype = is_half ? ScalarType::F32 : type.dtype;
  if (x->tensor().dtype != dtype) x = b.call("aten._to_copy.default", {x, dtype});
  const SymInt& columns = type.sizes.back();
  const ScalarType part = part_of(dtype);
  Value* exponents = is_increasing ? b.call("aten.arange.start_step", {0, b.size(columns), 1, part})
                                   : b.call("aten.arange.start_step", {b.size(columns - 1), -1, -1, part});
  Dims rows = type.sizes;
  rows.back() = 1;
  Value* column = b.view(x, rows);
  Value* powers = b.call("aten.pow.Tensor_Tensor", {column, exponents});
  return one(is_half ? b.call("aten._to_copy.default", {powers, type.dtype}) : powers);
}

}  // namespace

std::span<const OpLine> range_ops() {
  static constexpr OpRules even = composite(infer_spaced, linspace),
                           powers = composite(infer_spaced, logspace);
  static constexpr OpLine lines[] = {
      {"aten.linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, ...)", even},
      {"aten.linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, ...)",
       even},
      {"aten.linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, ...)",
       even},
      {"aten.linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, ...)",
       even},
      {"aten.logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, ...)",
       powers},
      {"aten.logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? "
       "dtype=None, ...)",
       powers},
      {"aten.logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? "
       "dtype=None, ...)",
       powers},
      {"aten.logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? "
       "dtype=None, ...)",
       powers},
      {"aten.one_hot(Tensor self, int num_classes=-1)", composite(infer_one_hot, one_hot)},
      {"aten.vander(Tensor x, int? N=None, bool increasing=False)", composite(infer_vander, vander)},
      {"aten.linalg_vander(Tensor x, *, SymInt? N=None)", composite(infer_vander, vander)},
  };
  return lines;
}

}  // namespace depute::internal
