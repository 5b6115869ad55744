// Forms of calls that the runtime's kernels compute right.
//
//   aten.remainder.Tensor(%a: i64, %b)    ->    aten.div.Tensor_mode(%a, %b, "floor"), mul by %b, sub from %a
//   aten.sum.dim_IntList(%x: f32[], [0])  ->    aten.view.default(%x, [1]), the sum, and a view to []
#include "ops/kernel_forms.h"

#include <algorithm>

#include "depute/infer.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Replacement as_it_is() {
  return std::vector<Value*>{};
}

bool is_without_dimensions(const Argument& argument) {
  return argument.is_value() && argument.as_value()->type().is_tensor() &&
         argument.as_value()->tensor().rank() == 0;
}

// The results with the sizes that the call's own have.
Replacement in_sizes_of(Builder& b, const OpCall& call, std::vector<Value*> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = b.view(results[i], call.node()->result(i)->tensor().sizes);
  }
  return results;
}

// The tensor an argument is or becomes: numbers turn into tensors of `dtype`.
Value* as_tensor(Builder& b, const Argument& argument, ScalarType dtype) {
  if (!argument.is_value() || !argument.as_value()->type().is_tensor()) {
    return b.call("aten.scalar_tensor.default", {argument, dtype});
  }
  Value* value = b.own(argument.as_value());
  return value->tensor().dtype == dtype ? value : b.call("aten._to_copy.default", {value, dtype});
}

// The bits of an exponent that is not negative.
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

// The same for exponents that the run tells. Of the negative ones, only those of 1 and -1 give anything but
// 0.
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

// --- padding

bool is_negative(const SymInt& size) {
  return size.is_constant() && size.value() < 0;
}

// `x` without what a negative number of elements at either end takes away.
Value* cut(Builder& b, Value* x, std::size_t dim, const SymInt& before, const SymInt& behind) {
  const std::int64_t start = is_negative(before) ? -before.value() : 0;
  const SymInt& size = x->tensor().sizes[dim];
  const SymInt end = is_negative(behind) ? size + behind : size;
  return b.call("aten.slice.Tensor", {x, static_cast<std::int64_t>(dim), start, b.size(end)});
}

// Pairs of numbers, the last dimension first.
Value* padded(Builder& b, Value* x, Dims pad, const Argument& value) {
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    SymInt& before = pad[2 * i];
    SymInt& behind = pad[2 * i + 1];
    if (!is_negative(before) && !is_negative(behind)) continue;
    x = cut(b, x, x->tensor().rank() - 1 - i, before, behind);
    if (b.failed()) return nullptr;
    if (is_negative(before)) before = std::int64_t{0};
    if (is_negative(behind)) behind = std::int64_t{0};
  }
  if (std::ranges::all_of(pad, [](const SymInt& size) { return size == 0; })) return x;
  return b.call("aten.constant_pad_nd.default", {x, pad, value});
}

// --- convolutions over three dimensions

struct Volume {
  std::int64_t stride, padding, dilation, output_padding;  // of the depth
  std::vector<std::int64_t> plane_stride, plane_padding, plane_dilation, plane_output_padding;
};

// A list argument's numbers for the depth, and for the plane.
std::pair<std::int64_t, std::vector<std::int64_t>> split_depth(const OpCall& call, std::string_view name) {
  std::vector<std::int64_t> numbers = call.ints(name);
  numbers.resize(3, numbers.empty() ? 0 : numbers.back());
  return {numbers[0], {numbers[1], numbers[2]}};
}

Volume volume_of(const OpCall& call) {
  Volume v;
  std::tie(v.stride, v.plane_stride) = split_depth(call, "stride");
  std::tie(v.padding, v.plane_padding) = split_depth(call, "padding");
  std::tie(v.dilation, v.plane_dilation) = split_depth(call, "dilation");
  std::tie(v.output_padding, v.plane_output_padding) = split_depth(call, "output_padding");
  return v;
}

// [N, C, D, H, W] <-> [N, D, C, H, W]
std::vector<std::int64_t> planes_first() {
  return {0, 2, 1, 3, 4};
}

// [N, D, C, H, W] convolved plane by plane with one slice of the kernel, which gives [N, D, O, H', W'].
Value* convolved_planes(Builder& b, const OpCall& call, Value* x, Value* kernel, Value* bias,
                        const Volume& v) {
  const Dims sizes = x->tensor().sizes;
  Value* planes = b.view(x, {sizes[0] * sizes[1], sizes[2], sizes[3], sizes[4]});
  Value* result = b.call("aten.convolution.default",
                         {planes, kernel, bias, v.plane_stride, v.plane_padding, v.plane_dilation,
                          call["transposed"], v.plane_output_padding, call["groups"]});
  if (b.failed()) return nullptr;
  const Dims& made = result->tensor().sizes;
  return b.view(result, {sizes[0], sizes[1], made[1], made[2], made[3]});
}

// `x` with zeros before and behind in the depth; negative numbers take away.
Value* padded_depth(Builder& b, Value* x, const SymInt& before, const SymInt& behind) {
  return padded(b, x, {0, 0, 0, 0, 0, 0, before, behind}, Argument::of(0));
}

// The planes that step `k` of the kernel meets.
Value* planes_at(Builder& b, Value* x, std::int64_t k, const SymInt& count, const Volume& v) {
  const SymInt start = k * v.dilation;
  const SymInt end = start + (count - 1) * v.stride + 1;
  return b.call("aten.slice.Tensor", {x, 1, b.size(start), b.size(end), v.stride});
}

// The planes of `y` where a transposed convolution adds those of step `k`: `stride` apart, from k * dilation.
Value* spread_planes(Builder& b, Value* y, std::int64_t k, std::int64_t depth, const Volume& v) {
  if (v.stride > 1) {
    Dims sizes = y->tensor().sizes;
    const Dims split = {sizes[0], sizes[1], 1, sizes[2], sizes[3], sizes[4]};
    const std::vector<std::int64_t> gaps = {0, 0, 0, 0, 0, 0, 0, v.stride - 1};
    y = b.call("aten.constant_pad_nd.default", {b.view(y, split), gaps});
    sizes[1] = sizes[1] * v.stride;
    if (b.failed()) return nullptr;
    y = b.view(y, sizes);
  }
  const std::int64_t before = k * v.dilation - v.padding;
  const std::int64_t behind = (depth - 1 - k) * v.dilation - v.padding + v.output_padding - (v.stride - 1);
  return padded_depth(b, y, before, behind);
}

// Powers that torch computes by other functions, which are faster, and differ at -inf.
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
  if (b.failed()) return Failure(b.status().error());
  return in_sizes_of(b, call, std::move(results));
}

Replacement remainder_by_floor(Builder& b, const OpCall& call) {
  if (!is_integral(promoted_type(call))) return as_it_is();
  Value* quotient = b.call("aten.div.Tensor_mode", {call["self"], call["other"], "floor"});
  return one(b.call("aten.sub.Tensor", {call["self"], b.call("aten.mul.Tensor", {quotient, call["other"]})}));
}

Replacement power_by_squaring(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  if (!is_integral(dtype)) return power_by_root(b, call);
  Value* base = as_tensor(b, call["self"], dtype);
  const Argument& exponent = call["exponent"];
  if (b.failed()) return Failure(b.status().error());
  if (exponent.is_number()) return one(constant_power(b, base, exponent.as_int()));
  return one(power_of(b, base, as_tensor(b, exponent, dtype)));
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
  Value* infinite = b.call("aten.div.Tensor", {call["self"], call["other"]});
  return one(b.call("aten.where.self", {is_zero, infinite, b.call("aten.div.Tensor_mode", call.args())}));
}

Replacement log_softmax_by_parts(Builder& b, const OpCall& call) {
  if (call.tensor("self").dtype != ScalarType::F64) return as_it_is();
  Value* x = b.own(call.value("self"));
  const std::vector<std::int64_t> dims = {call.integer("dim")};
  Value* shifted = b.call("aten.sub.Tensor", {x, b.call("aten.amax.default", {x, dims, true})});
  Value* total = b.call("aten.sum.dim_IntList", {b.call("aten.exp.default", {shifted}), dims, true});
  return one(b.call("aten.sub.Tensor", {shifted, b.call("aten.log.default", {total})}));
}

Replacement linear_of_rows(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("input"));
  if (x->tensor().rank() != 1) return as_it_is();
  Value* row = b.view(x, {1, x->tensor().sizes[0]});
  Value* result = b.call("aten.linear.default", {row, call["weight"], call["bias"]});
  if (b.failed()) return Failure(b.status().error());
  return in_sizes_of(b, call, {result});
}

Replacement select_broadcast(Builder& b, const OpCall& call) {
  const Dims& own = call.tensor("self").sizes;
  const Dims& mask = call.tensor("mask").sizes;
  TRY(Dims sizes, broadcast(own, mask));
  if (own == sizes && mask == sizes) return as_it_is();
  // How many elements it selects only the file can tell, so the node stays.
  Argument args[] = {call["self"], call["mask"]};
  for (Argument& arg : args) {
    Value* wide = b.call("aten.expand.default", {arg, sizes});
    if (b.failed()) return Failure(b.status().error());
    arg = Argument::of(wide);
  }
  b.graph().set_args(*b.own(call.node()->result())->producer(), args, {});
  return as_it_is();
}

Replacement pad_by_slices(Builder& b, const OpCall& call) {
  const Dims pad = as_dims(call["pad"]);
  if (std::ranges::none_of(pad, is_negative)) return as_it_is();
  return one(padded(b, b.own(call.value("self")), pad, call["value"]));
}

Replacement convolution_by_depth(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("input"));
  const TensorType& weight = call.tensor("weight");
  const bool is_constant = call.is_constant_ints("stride") && call.is_constant_ints("padding") &&
                           call.is_constant_ints("dilation") && call.is_constant_ints("output_padding");
  if (weight.rank() != 5 || x->tensor().rank() != 5 || !is_constant) return as_it_is();
  TRY(std::int64_t depth, static_size(weight, 2, "the depth of a kernel"));
  const Volume v = volume_of(call);
  const bool transposed = call.boolean("transposed");
  const SymInt count = call.node()->result()->tensor().sizes[2];
  x = b.call("aten.permute.default", {x, planes_first()});
  if (b.failed()) return Failure(b.status().error());
  if (!transposed) x = padded_depth(b, x, v.padding, v.padding);
  Value* total = nullptr;
  for (std::int64_t k = 0; k < depth; ++k) {
    Value* kernel = b.call("aten.select.int", {call["weight"], 2, k});
    Value* bias = k == 0 && !transposed ? b.own(call.value("bias")) : nullptr;
    Value* part = convolved_planes(b, call, transposed ? x : planes_at(b, x, k, count, v), kernel, bias, v);
    if (b.failed()) return Failure(b.status().error());
    if (transposed) part = spread_planes(b, part, k, depth, v);
    total = total == nullptr ? part : b.call("aten.add.Tensor", {total, part});
  }
  if (Value* bias = b.own(call.value("bias")); transposed && bias != nullptr && total != nullptr) {
    total = b.call("aten.add.Tensor", {total, b.view(bias, {bias->tensor().sizes[0], 1, 1})});
  }
  return one(b.call("aten.permute.default", {total, planes_first()}));
}

}  // namespace depute::internal
