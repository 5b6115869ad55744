// Rewrites calls into forms that the runtime's kernels compute correctly.
//
//   aten.remainder.Tensor(%a: i64, %b)    ->    aten.div.Tensor_mode(%a, %b, "floor"), mul by %b, sub from %a
//   aten.sum.dim_IntList(%x: f32[], [0])  ->    aten.view.default(%x, [1]), the sum, and a view to []
#include "ops/kernel_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "depute/program/infer.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Replacement as_it_is() {
  return std::vector<Value*>{};
}

bool is_tensor_argument(const Argument& argument) {
  return argument.is_value() && argument.as_value()->type().is_tensor();
}
bool is_without_dimensions(const Argument& argument) {
  return is_tensor_argument(argument) && argument.as_value()->tensor().rank() == 0;
}

// Views the results in the sizes of the call's results.
Replacement in_sizes_of(Builder& b, const OpCall& call, std::vector<Value*> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = b.view(results[i], call.node()->result(i)->tensor().sizes);
  }
  return results;
}

// Returns the argument as a tensor of `dtype`.
Value* as_tensor(Builder& b, const Argument& argument, ScalarType dtype) {
  if (!is_tensor_argument(argument)) return b.call("aten.scalar_tensor.default", {argument, dtype});
  Value* value = b.own(argument.as_value());
  return value->tensor().dtype == dtype ? value : b.call("aten._to_copy.default", {value, dtype});
}

// Returns the number of bits of a nonnegative exponent.
int exponent_bits(ScalarType dtype) {
  const int bits = static_cast<int>(item_size(dtype)) * 8;
  return dtype == ScalarType::U8 ? bits : bits - 1;
}

// base ^ exponent for a constant exponent: a product for each of its bits.
Value* constant_power(Builder& b, Value* base, std::int64_t exponent) {
  Value* product = nullptr;
  for (Value* square = base; exponent > 0;) {
    if (exponent % 2 != 0)
      product = product == nullptr ? square : b.call("aten.mul.Tensor", {product, square});
    exponent /= 2;
    if (exponent > 0) square = b.call("aten.mul.Tensor", {square, square});
  }
  return product == nullptr ? b.call("aten.full_like.default", {base, 1}) : product;
}

// Like constant_power(), for exponents known at run time. Negative exponents give 0 for all bases but 1 and
// -1.
Value* power_of(Builder& b, Value* base, Value* exponent) {
  const ScalarType dtype = exponent->tensor().dtype;
  Value* product = nullptr;
  Value* square = base;
  for (int bit = 0; bit < exponent_bits(dtype); ++bit) {
    if (bit > 0) square = b.call("aten.mul.Tensor", {square, square});
    Value* is_set = b.call("aten.bitwise_and.Scalar", {exponent, std::int64_t{1} << bit});
    Value* factor = b.call("aten.where.self", {b.call("aten.ne.Scalar", {is_set, 0}), square, 1});
    product = product == nullptr ? factor : b.call("aten.mul.Tensor", {product, factor});
  }
  if (dtype == ScalarType::U8) return product;
  Value* is_other = b.call("aten.logical_and.default",
                           {b.call("aten.ne.Scalar", {base, 1}), b.call("aten.ne.Scalar", {base, -1})});
  Value* is_fraction =
      b.call("aten.logical_and.default", {is_other, b.call("aten.lt.Scalar", {exponent, 0})});
  return b.call("aten.where.self", {is_fraction, 0, product});
}

// Powers that torch computes by other, faster functions, which differ at -inf.
Replacement power_by_root(Builder& b, const OpCall& call) {
  const Argument& exponent = call["exponent"];
  if (!exponent.is_number() || !call["self"].is_value()) return as_it_is();
  const double power = exponent.as_double();
  if (power == 2) return one(b.call("aten.mul.Tensor", {call["self"], call["self"]}));
  if (power == 0.5) return one(b.call("aten.sqrt.default", {call["self"]}));
  if (power == -0.5) return one(b.call("aten.rsqrt.default", {call["self"]}));
  if (power == -1) return one(b.call("aten.reciprocal.default", {call["self"]}));
  return as_it_is();
}

}  // namespace

Replacement with_dimension(Builder& b, const OpCall& call) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  if (call.args().empty() || !is_without_dimensions(call[0])) return as_it_is();
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (is_without_dimensions(call[i])) args[i] = b.view(b.own(call[i].as_value()), {1});
  }
  std::vector<Value*> results = b.call_all(call.def().name.str(), args);
  return in_sizes_of(b, call, std::move(results));
}

Replacement with_wrapped_dims(Builder& b, const OpCall& call) {
  Ints dims = call.ints("dim");
  if (std::ranges::all_of(dims, [](std::int64_t dim) { return dim >= 0; })) return as_it_is();
  for (std::int64_t& dim : dims)
    if (dim < 0) dim += static_cast<std::int64_t>(call.tensor("self").rank());
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  args[static_cast<std::size_t>(call.def().arg_index(Name("dim")))] = dims;
  return one(b.call(call.def().name.str(), args));
}

Replacement with_bounds_of_type(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  if (!is_floating(dtype) || dtype == ScalarType::F64) return as_it_is();
  const double largest = dtype == ScalarType::F16 ? 65504 : std::numeric_limits<float>::max();
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  bool is_changed = false;
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (!call[i].is_number() || !std::isfinite(call[i].as_double())) continue;
    if (std::abs(call[i].as_double()) <= largest) continue;
    args[i] = std::copysign(std::numeric_limits<double>::infinity(), call[i].as_double());
    is_changed = true;
  }
  return is_changed ? one(b.call(call.def().name.str(), args)) : as_it_is();
}

Replacement le_by_ge(Builder& b, const OpCall& call) {
  const bool are_tensors = call["other"].is_value() && call["other"].as_value()->type().is_tensor();
  if (!are_tensors || call.tensor("self").sizes == call.tensor("other").sizes) return as_it_is();
  if (promoted_type(call) != ScalarType::Bool) return as_it_is();
  return one(b.call("aten.ge.Tensor", {call["other"], call["self"]}));
}

Replacement remainder_by_floor(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  if (!is_integral(dtype)) return as_it_is();
  Value* divisor = as_tensor(b, call["other"], dtype);
  if (dtype !=
      ScalarType::U8) {  // the least integer by -1 would end the process; the remainder by 1 is as good
    Value* is_negative_one = b.call("aten.eq.Scalar", {divisor, -1});
    divisor = b.call("aten.where.ScalarSelf", {is_negative_one, 1, divisor});
  }
  Value* quotient = b.call("aten.div.Tensor_mode", {call["self"], divisor, "floor"});
  return one(b.call("aten.sub.Tensor", {call["self"], b.call("aten.mul.Tensor", {quotient, divisor})}));
}

Replacement power_by_squaring(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  if (dtype == ScalarType::Bool) {
    Value* is_first = b.call("aten.logical_not.default", {as_tensor(b, call["exponent"], dtype)});
    return one(b.call("aten.logical_or.default", {as_tensor(b, call["self"], dtype), is_first}));
  }
  if (!is_integral(dtype)) return power_by_root(b, call);
  Value* base = as_tensor(b, call["self"], dtype);
  const Argument& exponent = call["exponent"];
  if (exponent.is_number()) return one(constant_power(b, base, exponent.as_int()));
  return one(power_of(b, base, as_tensor(b, exponent, dtype)));
}

namespace {

bool may_be_one(const SymInt& size) {
  return !size.is_constant() || size.value() == 1;
}

// True if x has more dimensions, and a dimension that may be 1 and is broadcast against `other`.
bool is_wrapped_and_stretched(const TensorType& x, const TensorType& other) {
  if (x.rank() <= other.rank()) return false;
  const std::size_t more = x.rank() - other.rank();
  for (std::size_t i = 0; i < more; ++i)
    if (!may_be_one(x.sizes[i])) return false;
  for (std::size_t i = 0; i < other.rank(); ++i)
    if (x.sizes[more + i] != other.sizes[i] && may_be_one(x.sizes[more + i])) return true;
  return false;
}

// True if the kernel may apply alpha to the wrong operand (self may have one element), or rejects alpha
// because it does not fit the type.
bool takes_wrong_alpha(const OpCall& call) {
  const int place = call.def().arg_index(Name("alpha"));
  if (place < 0) return false;
  const Argument& alpha = call[static_cast<std::size_t>(place)];
  if (alpha.is_number() && alpha.as_double() == 1) return false;
  const ScalarType dtype = promoted_type(call);
  const bool may_not_fit = is_integral(dtype) && dtype != ScalarType::I64 && dtype != ScalarType::Bool;
  constexpr double max_of_any = 127;
  const bool fits = alpha.is_number() && alpha.as_double() >= 0 && alpha.as_double() <= max_of_any;
  if (may_not_fit && !fits) return true;
  return call.def().name == "aten.add.Tensor" && may_be_one(call.tensor("self").numel());
}

}  // namespace

Replacement of_equal_ranks(Builder& b, const OpCall& call) {
  if (!is_tensor_argument(call["self"]) || !is_tensor_argument(call["other"])) return as_it_is();
  const TensorType &x = call.tensor("self"), &y = call.tensor("other");
  const bool pads_other = is_wrapped_and_stretched(x, y), pads_self = is_wrapped_and_stretched(y, x);
  const bool is_apart = takes_wrong_alpha(call);
  if (!pads_self && !pads_other && !is_apart) return as_it_is();
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  Value* other = b.own(call.value("other"));
  if (is_apart) other = b.call("aten.mul.Tensor", {other, call["alpha"]});
  args[0] = pads_self ? with_rank(b, b.own(call.value("self")), y.rank()) : b.own(call.value("self"));
  args[1] = pads_other ? with_rank(b, other, x.rank()) : other;
  if (is_apart) args.pop_back();
  return one(b.call(call.def().name.str(), args));
}

namespace {

// Number of places of a shift for the kernel: at least 0 and below the width of the type.
struct Places {
  Value* count = nullptr;  // null: the call needs no change
  Value* is_within = nullptr;
  std::int64_t last = 0;  // the largest valid number
};
Places places_of(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  if (!is_integral(dtype)) return {};
  const auto bits = static_cast<std::int64_t>(item_size(dtype)) * 8;
  const Argument& other = call["other"];
  if (other.is_number() && other.as_double() >= 0 && other.as_double() < static_cast<double>(bits)) return {};
  Value* count = as_tensor(b, other, dtype);
  Value* is_within = b.call("aten.logical_and.default",
                            {b.call("aten.ge.Scalar", {count, 0}), b.call("aten.lt.Scalar", {count, bits})});
  return {count, is_within, bits - 1};
}

}  // namespace

Replacement left_shift_within_width(Builder& b, const OpCall& call) {
  const Places places = places_of(b, call);
  if (places.count == nullptr) return as_it_is();
  Value* clamped = b.call("aten.clamp.default", {places.count, 0, places.last});
  Value* shifted = b.call("aten.bitwise_left_shift.Tensor", {call["self"], clamped});
  return one(b.call("aten.where.self", {places.is_within, shifted, 0}));
}

Replacement right_shift_within_width(Builder& b, const OpCall& call) {
  const Places places = places_of(b, call);
  if (places.count == nullptr) return as_it_is();
  Value* count = b.call("aten.where.self", {places.is_within, places.count, places.last});
  Value* shifted = b.call("aten.bitwise_right_shift.Tensor", {call["self"], count});
  const bool has_sign = promoted_type(call) != ScalarType::U8;
  return one(has_sign ? shifted : b.call("aten.where.self", {places.is_within, shifted, 0}));
}

namespace {

// True if a product over `inner` has elements that the kernel does not write, since `inner` turns out to be 0.
bool may_be_unwritten(const Builder& b, const SymInt& inner, const Dims& result) {
  return b.range_of(inner).min <= 0 && std::ranges::find(result, inner) == result.end();
}

// Returns `product`, or zeros where its inner dimension turns out to be empty.
Value* written(Builder& b, const SymInt& inner, Value* product) {
  return zero_unless(b, b.call("aten.gt.Scalar", {size_tensor(b, inner, ScalarType::I64), 0}), product);
}

}  // namespace

Replacement product_of_numbers(Builder& b, const OpCall& call) {
  const TensorType& left = call[call.args().size() - 2].as_value()->tensor();
  const TensorType& wanted = call.node()->result()->tensor();
  const SymInt inner = left.sizes.back();
  if (inner == 0) return one(b.call("aten.full.default", {wanted.sizes, 0, wanted.dtype}));
  if (left.dtype != ScalarType::Bool) {
    if (!may_be_unwritten(b, inner, wanted.sizes)) return as_it_is();
    return one(written(b, inner, b.call(call.def().name.str(), call.args())));
  }
  std::vector<BuilderArgument> args;
  for (const Argument& factor : call.args())
    args.emplace_back(to_dtype(b, b.own(factor.as_value()), ScalarType::F32));
  Value* product = b.call(call.def().name.str(), args);
  if (may_be_unwritten(b, inner, wanted.sizes)) product = written(b, inner, product);
  return one(b.call("aten.ne.Scalar", {product, 0}));
}

Replacement linear_of_nothing(Builder& b, const OpCall& call) {
  const TensorType& wanted = call.node()->result()->tensor();
  const SymInt inner = call.tensor("weight").sizes.back();
  if (may_be_unwritten(b, inner, wanted.sizes)) {
    Value* product = written(b, inner, b.call("aten.linear.default", {call["input"], call["weight"]}));
    return one(call["bias"].is_none() ? product : b.call("aten.add.Tensor", {product, call["bias"]}));
  }
  if (inner != 0) return as_it_is();
  if (call["bias"].is_none()) return one(b.call("aten.full.default", {wanted.sizes, 0, wanted.dtype}));
  return one(
      b.call("aten.expand.default", {to_dtype(b, b.own(call.value("bias")), wanted.dtype), wanted.sizes}));
}

Replacement sum_of_product(Builder& b, const OpCall& call) {
  const TensorType& wanted = call.node()->result()->tensor();
  const SymInt inner = call.tensor("mat1").sizes.back();
  const Argument& beta = call["beta"];
  if (may_be_unwritten(b, inner, wanted.sizes)) {
    Value* product = written(b, inner, b.call("aten.mm.default", {call["mat1"], call["mat2"]}));
    Value* scaled = b.call("aten.mul.Tensor", {product, call["alpha"]});
    if (beta.is_number() && beta.as_double() == 0) return one(scaled);
    return one(b.call("aten.add.Tensor", {b.call("aten.mul.Tensor", {call["self"], beta}), scaled}));
  }
  if (inner != 0) return as_it_is();
  if (beta.is_number() && beta.as_double() == 0)
    return one(b.call("aten.full.default", {wanted.sizes, 0, wanted.dtype}));
  Value* scaled = b.call("aten.mul.Tensor", {call["self"], beta});
  return one(b.call("aten.expand.default", {to_dtype(b, scaled, wanted.dtype), wanted.sizes}));
}

Replacement sum_in_f32(Builder& b, const OpCall& call) {
  const ScalarType dtype = dtype_or(call, call.tensor("self").dtype);
  const bool is_truth = dtype == ScalarType::Bool && call.tensor("self").dtype != dtype;
  if (!is_truth && !is_half_precision(dtype)) return with_dimension(b, call);
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  const ScalarType summed = is_truth ? dtype : ScalarType::F32;
  Value* converted = to_dtype(b, b.own(call.value("self")), summed);
  args[0] = call.tensor("self").rank() == 0 ? reshape(b, converted, {1}) : converted;
  args[static_cast<std::size_t>(call.def().arg_index(Name("dtype")))] = summed;
  std::vector<Value*> results = b.call_all(call.def().name.str(), args);
  for (Value*& value : results) value = to_dtype(b, value, dtype);
  return in_sizes_of(b, call, std::move(results));
}

Replacement extreme_beside_empty(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const std::vector<std::size_t> dims, wrap_dims(call["dim"], self.rank()));
  bool may_be_empty = false;
  for (std::size_t i = 0; i < self.rank(); ++i)
    may_be_empty |= std::ranges::find(dims, i) == dims.end() && b.range_of(self.sizes[i]).min <= 0;
  if (!may_be_empty) return with_dimension(b, call);
  const std::string_view by = call.def().name == Name("aten.amax.default") ? "aten.max.dim" : "aten.min.dim";
  Value* x = b.own(call.value("self"));
  for (std::size_t dim : dims) x = b.call_all(by, {x, static_cast<std::int64_t>(dim), true})[0];
  return one(call["keepdim"].as_bool() ? x : b.view(x, call.node()->result()->tensor().sizes));
}

Replacement sign_without_nan(Builder& b, const OpCall& call) {
  if (!is_floating(call.tensor("self").dtype)) return as_it_is();
  Value* sign = b.call("aten.sign.default", {call["self"]});
  return one(b.call("aten.where.self", {b.call("aten.isnan.default", {call["self"]}), 0, sign}));
}

Replacement floor_by_division_of_zero(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  if (!is_floating(dtype) || call["rounding_mode"].is_none() || call.text("rounding_mode") != "floor") {
    return as_it_is();
  }
  Value* is_zero = b.call("aten.eq.Scalar", {as_tensor(b, call["other"], dtype), 0});
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  if (is_tensor_argument(call["self"]) && is_tensor_argument(call["other"])) {
    const std::size_t rank = std::max(call.tensor("self").rank(), call.tensor("other").rank());
    args[0] = with_rank(b, b.own(call.value("self")), rank);
    args[1] = with_rank(b, b.own(call.value("other")), rank);
  }
  Value* infinite = b.call("aten.div.Tensor", {args[0], args[1]});
  return one(b.call("aten.where.self", {is_zero, infinite, b.call("aten.div.Tensor_mode", args)}));
}

namespace {

Value* log_softmax_of_numbers(Builder& b, Value* x, std::int64_t dim) {
  const std::vector<std::int64_t> dims = {dim};
  Value* shifted = b.call("aten.sub.Tensor", {x, b.call_all("aten.max.dim", {x, dim, true})[0]});
  Value* total = b.call("aten.sum.dim_IntList", {b.call("aten.exp.default", {shifted}), dims, true});
  return b.call("aten.sub.Tensor", {shifted, b.call("aten.log.default", {total})});
}

}  // namespace

// With an element of -inf more, which adds nothing to the sum, a dimension that turns out to be empty is not.
Replacement log_softmax_for_kernel(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  const bool is_f64 = self.dtype == ScalarType::F64;
  Value* x = b.own(call.value("self"));
  if (self.rank() == 0)  // the kernels want a dimension
    return is_f64 ? one(b.call("aten.sub.Tensor", {x, x})) : as_it_is();
  TRY(const std::size_t dim, wrap_dim(call.integer("dim"), self.rank()));
  const bool may_be_empty = !self.sizes[dim].is_constant() && b.range_of(self.sizes[dim]).min <= 0;
  if (!may_be_empty && !is_f64) return as_it_is();
  if (may_be_empty) x = one_longer(b, x, dim, -std::numeric_limits<double>::infinity());
  x = is_f64 ? log_softmax_of_numbers(b, x, call.integer("dim"))
             : b.call("aten._log_softmax.default", {x, call["dim"], call["half_to_float"]});
  if (may_be_empty) x = b.call("aten.slice.Tensor", {x, call["dim"], 0, b.size(self.sizes[dim])});
  return one(x);
}

Replacement select_broadcast(Builder& b, const OpCall& call) {
  const Dims& own = call.tensor("self").sizes;
  const Dims& mask = call.tensor("mask").sizes;
  const Result<Dims> known = broadcast(own, mask);
  if (!known || (own == *known && mask == *known)) return as_it_is();  // the kernel broadcasts correctly
  const Dims& sizes = *known;
  if (product(sizes) != product(own)) {
    return argument_error(
        "unsupported: a mask that is larger than the tensor, because torch.export bounds the result by the "
        "tensor's size");
  }
  // The node stays, since only the file gives the number of selected elements.
  Argument args[] = {call["self"], call["mask"]};
  for (Argument& arg : args) {
    Value* wide = b.call("aten.expand.default", {arg, sizes});
    arg = Argument::of(wide);
  }
  b.graph().set_args(*b.own(call.node()->result())->producer(), args, {});
  return as_it_is();
}

}  // namespace depute::internal
