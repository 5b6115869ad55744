// Sums, means, extremes and normalizations along dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "emitter.h"

namespace depute::tosa::ops {
namespace {

// The dimensions that an argument lists; all if it lists none.
std::vector<std::size_t> dimensions(const OpCall& call, std::string_view name, std::size_t rank) {
  std::vector<std::size_t> dims;
  for (const std::int64_t dim : call.ints(name)) dims.push_back(dimension_at(dim, rank));
  if (dims.empty()) {
    for (std::size_t dim = 0; dim < rank; ++dim) dims.push_back(dim);
  }
  if (rank == 0) dims.clear();
  return dims;
}

std::vector<std::size_t> last_dimensions(std::size_t rank, std::size_t count) {
  std::vector<std::size_t> dims;
  for (std::size_t dim = rank - count; dim < rank; ++dim) dims.push_back(dim);
  return dims;
}

Check result(Emitter& emit, const Tensor& reduced) {
  return emit.result(emit.reshape(emit.cast(reduced, emit.result_dtype()), emit.result_shape()));
}

Check sum(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  return result(emit, emit.sum(x, dimensions(call, "dim", x.rank())));
}

Check mean(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  return result(emit, emit.mean(x, dimensions(call, "dim", x.rank())));
}

// The sum of so many integers and a sign fits into i32 if they are multiplied by this.
double sum_fraction(const Quantization& quantization, std::int64_t count) {
  const double max_count = std::ldexp(1, 31 - quantization.bits);
  return std::min(1.0, max_count / static_cast<double>(count));
}

// The sum of all elements as i32, and its scale; or the mean's.
template <bool is_mean>
Check total_of_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("self"));
  const auto scale = emit.wanted(*call.node()->result());
  if (!x || !scale) return refuse_integers(x ? not_quantized : no_integers);
  const auto dims = dimensions(call, "dim", x->tensor.rank());
  std::int64_t count = 1;
  for (const std::size_t dim : dims) count *= x->tensor.shape[dim];
  const double fraction = sum_fraction(x->quantization, count);
  const Tensor wide = emit.rescale(x->tensor, x->quantization.zero_point, DType::I32, 0, fraction);
  const double factor =
      x->quantization.scale / scale->scale / fraction / (is_mean ? static_cast<double>(count) : 1);
  return emit.integer_result(emit.rescale(emit.sum(wide, dims), 0, scale->dtype(), scale->zero_point, factor),
                             *scale);
}

Check mean_of_integers(Emitter& emit, const OpCall& call) {
  return total_of_integers<true>(emit, call);
}

Check sum_of_integers(Emitter& emit, const OpCall& call) {
  return total_of_integers<false>(emit, call);
}

template <Op op>
Check extreme(Emitter& emit, const OpCall& call) {
  Tensor x = emit.input(call, "self");
  for (const std::size_t dim : dimensions(call, "dim", x.rank())) x = emit.reduce(op, x, dim);
  return result(emit, x);
}

// The place of the first extreme along a dimension, which ARGMAX leaves out. Integers are in the opposite order if their bits
// are inverted.
template <Op op>
Check place_of(Emitter& emit, const Tensor& x, std::size_t dim, std::size_t result) {
  const bool is_min = op == Op::ReduceMin;
  const Tensor turned = is_float(x.dtype) ? emit.negate(x) : emit.add(Op::BitwiseNot, {x});
  const Tensor rows = emit.in_rows(is_min ? turned : x);
  Shape sizes = rows.shape;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  const Axis axis{static_cast<std::int32_t>(dim)};
  const Tensor places = emit.raw(Op::ArgMax, {rows}, DType::I32, sizes, axis);
  return emit.result_i64(emit.reshape(places, emit.result_shape(result)), result);
}

template <Op op>
Check place(Emitter& emit, const OpCall& call, const Tensor& x) {
  if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
  if (call["dim"].is_none()) return place_of<op>(emit, emit.reshape(x, {element_count(x.shape)}), 0, 0);
  return place_of<op>(emit, x, dimension(call, "dim", x.rank()), 0);
}

template <Op op>
Check place_of_extreme(Emitter& emit, const OpCall& call) {
  return place<op>(emit, call, emit.input(call, "self"));
}

template <Op op>
Check place_in_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("self"));
  if (!x) return refuse_integers(no_integers);
  return place<op>(emit, call, x->tensor);
}

template <Op op>
Check extreme_of_dim(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (call.node()->results().size() > 1 && call.node()->result(1)->has_uses()) {
    if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
    DEPUTE_REFUSE_IF(place_of<op>(emit, x, dimension(call, "dim", x.rank()), 1));
  }
  return x.rank() == 0 ? emit.result(x) : result(emit, emit.reduce(op, x, dimension(call, "dim", x.rank())));
}

template <Op op>
Check of_bools(Emitter& emit, const OpCall& call) {
  Tensor x = emit.cast(emit.input(call, "self"), DType::Bool);
  for (const std::size_t dim : dimensions(call, "dim", x.rank())) x = emit.reduce(op, x, dim);
  return result(emit, x);
}

Check product(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  return x.rank() == 0 ? emit.result(x)
                       : result(emit, emit.reduce(Op::ReduceProduct, x, dimension(call, "dim", x.rank())));
}

Check product_of_all(Emitter& emit, const OpCall& call) {
  Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  for (std::size_t dim = 0; dim < x.rank(); ++dim) x = emit.reduce(Op::ReduceProduct, x, dim);
  return result(emit, x);
}

template <Op op>
Check of_all_bools(Emitter& emit, const OpCall& call) {
  Tensor x = emit.cast(emit.input(call, "self"), DType::Bool);
  for (std::size_t dim = 0; dim < x.rank(); ++dim) x = emit.reduce(op, x, dim);
  return result(emit, x);
}

template <Op op>
Check of_bools_of_dim(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.cast(emit.input(call, "self"), DType::Bool);
  return x.rank() == 0 ? emit.result(x) : result(emit, emit.reduce(op, x, dimension(call, "dim", x.rank())));
}

// The sum of squared distances from the mean, divided by the count less the correction; nothing is left of it: infinity.
Check variance(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.cast(emit.input(call, "self"), DType::F32);
  const std::vector<std::size_t> dims = dimensions(call, "dim", x.rank());
  std::int64_t count = 1;
  for (const std::size_t dim : dims) count *= x.shape[dim];
  const double correction = call["correction"].is_none() ? 1 : call.number("correction");
  const double divisor = std::max(static_cast<double>(count) - correction, 0.0);
  const Tensor centered = emit.add(Op::Sub, {x, emit.mean(x, dims)});
  return result(emit, emit.mul(emit.sum(emit.mul(centered, centered), dims), 1 / divisor));
}

// x - max(x), whose exponentials do not overflow.
Tensor below_zero(Emitter& emit, const Tensor& x, std::size_t dim) {
  return emit.add(Op::Sub, {x, emit.reduce(Op::ReduceMax, x, dim)});
}

Check softmax(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
  const std::size_t dim = dimension(call, "dim", x.rank());
  const Tensor powers = emit.add(Op::Exp, {below_zero(emit, x, dim)});
  return emit.result(emit.mul(powers, emit.add(Op::Reciprocal, {emit.reduce(Op::ReduceSum, powers, dim)})));
}

Check log_softmax(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
  const std::size_t dim = dimension(call, "dim", x.rank());
  const Tensor low = below_zero(emit, x, dim);
  const Tensor total = emit.reduce(Op::ReduceSum, emit.add(Op::Exp, {low}), dim);
  return emit.result(emit.add(Op::Sub, {low, emit.add(Op::Log, {total})}));
}

struct Normalized {
  Tensor value;
  Tensor mean;
  Tensor inverse_deviation;
};

// In f32, as PyTorch computes f16.
Normalized normalized(Emitter& emit, const Tensor& given, std::span<const std::size_t> dims, double eps) {
  const Tensor x = emit.cast(given, DType::F32);
  const Tensor mean = emit.mean(x, dims);
  const Tensor centered = emit.add(Op::Sub, {x, mean});
  const Tensor variance = emit.mean(emit.mul(centered, centered), dims);
  const Tensor inverse = emit.add(Op::Rsqrt, {emit.add(Op::Add, variance, eps)});
  return {emit.cast(emit.mul(centered, inverse), given.dtype), mean, inverse};
}

// Results 1 and 2 are the mean and one over the deviation.
Check statistics(Emitter& emit, const Node& node, const Normalized& made) {
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.result(i)->has_uses()) continue;
    DEPUTE_REFUSE_IF(
        emit.result(emit.cast(emit.reshape(i == 1 ? made.mean : made.inverse_deviation, emit.result_shape(i)),
                              emit.result_dtype(i)),
                    i));
  }
  return {};
}

Check layer_norm(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "input");
  const std::vector<std::size_t> dims = last_dimensions(x.rank(), call.ints("normalized_shape").size());
  const Normalized made = normalized(emit, x, dims, call.number("eps"));
  Tensor y = made.value;
  if (!call["weight"].is_none()) y = emit.mul(y, emit.input(call, "weight"));
  if (!call["bias"].is_none()) y = emit.add(Op::Add, {y, emit.input(call, "bias")});
  DEPUTE_REFUSE_IF(statistics(emit, *call.node(), made));
  return emit.result(y);
}

// A tensor of one number for each channel, beside a tensor with `rank` dimensions.
Tensor by_channel(Emitter& emit, const Tensor& numbers, std::size_t rank) {
  Shape shape(rank, 1);
  shape[1] = numbers.shape[0];
  return emit.reshape(numbers, shape);
}

Check group_norm(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "input");
  const std::int64_t groups = call.integer("group");
  const Shape shape = {x.shape[0], groups, element_count(x.shape) / x.shape[0] / groups};
  const std::size_t last[] = {2};
  const Normalized made = normalized(emit, emit.reshape(x, shape), last, call.number("eps"));
  Tensor y = emit.reshape(made.value, x.shape);
  if (!call["weight"].is_none()) y = emit.mul(y, by_channel(emit, emit.input(call, "weight"), x.rank()));
  if (!call["bias"].is_none())
    y = emit.add(Op::Add, {y, by_channel(emit, emit.input(call, "bias"), x.rank())});
  DEPUTE_REFUSE_IF(statistics(emit, *call.node(), made));
  return emit.result(y);
}

struct Affine {
  Tensor scale;
  Tensor shift;
};

using Floats = std::vector<float>;

// scale = weight / sqrt(variance + eps), shift = bias - mean * scale. Computed here of constants in f32.
Affine folded(Emitter& emit, std::span<const Tensor> parts, double eps) {
  std::vector<Constant> inputs;
  for (const Tensor& part : parts) inputs.push_back(emit.data(emit.in_rows(part)));
  const auto scale_of = [eps](std::span<const Floats> in) {
    Floats scale;
    for (std::size_t i = 0; i < in[0].size(); ++i)
      scale.push_back(static_cast<float>(in[2][i] / std::sqrt(static_cast<double>(in[0][i]) + eps)));
    return scale;
  };
  const auto shift_of = [scale_of](std::span<const Floats> in) {
    Floats shift = scale_of(in);
    for (std::size_t i = 0; i < shift.size(); ++i) shift[i] = in[3][i] - in[1][i] * shift[i];
    return shift;
  };
  const Dims sizes = dims_of(parts[0].shape);
  return {emit.constant(weights::computed(fmt::format("scale{}", eps), inputs, sizes, scale_of)),
          emit.constant(weights::computed(fmt::format("shift{}", eps), inputs, sizes, shift_of))};
}

Check batch_norm(Emitter& emit, const OpCall& call) {
  for (std::size_t i = 1; i < call.node()->results().size(); ++i) {
    if (call.node()->result(i)->has_uses())
      return Refusal{"unused-result", "a result after the first is used", "result 0 alone"};
  }
  const Tensor x = emit.input(call, "input");
  const double eps = call.number("eps");
  const Tensor variance = emit.input(call, "running_var");
  const auto given = [&](std::string_view name, double otherwise) {
    if (!call[name].is_none()) return emit.input(call, name);
    return emit.constant(weights::filled(ScalarType::F32, dims_of(variance.shape), otherwise));
  };
  const std::array parts = {variance, emit.input(call, "running_mean"), given("weight", 1), given("bias", 0)};
  Affine affine;
  if (std::ranges::all_of(
          parts, [&](const Tensor& part) { return part.dtype == DType::F32 && emit.is_constant(part); })) {
    affine = folded(emit, parts, eps);
  } else {
    const Tensor inverse = emit.add(Op::Rsqrt, {emit.add(Op::Add, variance, eps)});
    affine.scale = call["weight"].is_none() ? inverse : emit.mul(inverse, parts[2]);
    affine.shift = emit.negate(emit.mul(parts[1], affine.scale));
    if (!call["bias"].is_none()) affine.shift = emit.add(Op::Add, {affine.shift, parts[3]});
  }
  const Tensor scaled = emit.mul(x, emit.cast(by_channel(emit, affine.scale, x.rank()), x.dtype));
  return emit.result(
      emit.add(Op::Add, {scaled, emit.cast(by_channel(emit, affine.shift, x.rank()), x.dtype)}));
}

// Adds the tensor to itself, moved by 1, 2, 4, ... elements. A product with a triangle of ones would spread infinities.
Tensor running_sums(Emitter& emit, const Tensor& x, std::size_t dim) {
  Tensor sums = x;
  for (std::int64_t distance = 1; distance < x.shape[dim]; distance *= 2) {
    std::vector<std::int64_t> widths(2 * x.rank(), 0);
    widths[2 * dim] = distance;
    const Tensor moved = emit.pad(emit.slice(sums, dim, 0, x.shape[dim] - distance), widths, 0);
    sums = emit.add(Op::Add, {sums, moved});
  }
  return sums;
}

Check cumsum(Emitter& emit, const OpCall& call) {
  Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  if (x.rank() == 0) return emit.result(x);
  const std::size_t dim = dimension(call, "dim", x.rank());
  const DType computed = is_float(x.dtype) ? DType::F32 : wide_integer(x.dtype);
  return emit.result(emit.cast(running_sums(emit, emit.cast(x, computed), dim), emit.result_dtype()));
}

Check cumsum_of_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("self"));
  const auto scale = emit.wanted(*call.node()->result());
  if (!x || !scale || x->tensor.rank() == 0) return refuse_integers(x ? not_quantized : no_integers);
  const std::size_t dim = dimension(call, "dim", x->tensor.rank());
  const double fraction = sum_fraction(x->quantization, x->tensor.shape[dim]);
  const Tensor wide = emit.rescale(x->tensor, x->quantization.zero_point, DType::I32, 0, fraction);
  const double factor = x->quantization.scale / scale->scale / fraction;
  const Tensor sums = running_sums(emit, wide, dim);
  return emit.integer_result(emit.rescale(sums, 0, scale->dtype(), scale->zero_point, factor), *scale);
}

}  // namespace

std::span<const OpRule> reduction() {
  using enum Op;
  static constexpr OpRule rules[] = {
      {.op = "aten._log_softmax.default", .translate = log_softmax},
      {.op = "aten._native_batch_norm_legit_no_training.default",
       .conditions = "result 0 alone",
       .translate = batch_norm},
      {.op = "aten._softmax.default", .translate = softmax},
      {.op = "aten.all.default", .translate = of_all_bools<ReduceAll>},
      {.op = "aten.all.dim", .translate = of_bools_of_dim<ReduceAll>},
      {.op = "aten.all.dims", .translate = of_bools<ReduceAll>},
      {.op = "aten.amax.default", .translate = extreme<ReduceMax>, .integers = IntegerForm::SameScale},
      {.op = "aten.amin.default", .translate = extreme<ReduceMin>, .integers = IntegerForm::SameScale},
      {.op = "aten.any.default", .translate = of_all_bools<ReduceAny>},
      {.op = "aten.any.dim", .translate = of_bools_of_dim<ReduceAny>},
      {.op = "aten.any.dims", .translate = of_bools<ReduceAny>},
      {.op = "aten.argmax.default",
       .conditions = "floats, i16, i8",
       .gives_i64 = true,
       .translate = place_of_extreme<ReduceMax>,
       .integers = IntegerForm::Own,
       .translate_integers = place_in_integers<ReduceMax>},
      {.op = "aten.argmin.default",
       .conditions = "floats, i16, i8",
       .gives_i64 = true,
       .translate = place_of_extreme<ReduceMin>,
       .integers = IntegerForm::Own,
       .translate_integers = place_in_integers<ReduceMin>},
      {.op = "aten.cumsum.default",
       .translate = cumsum,
       .integers = IntegerForm::Own,
       .translate_integers = cumsum_of_integers},
      {.op = "aten.max.dim", .translate = extreme_of_dim<ReduceMax>, .integers = IntegerForm::SameScale},
      {.op = "aten.mean.dim",
       .translate = mean,
       .integers = IntegerForm::Own,
       .translate_integers = mean_of_integers},
      {.op = "aten.min.dim", .translate = extreme_of_dim<ReduceMin>, .integers = IntegerForm::SameScale},
      {.op = "aten.native_group_norm.default", .translate = group_norm},
      {.op = "aten.native_layer_norm.default", .translate = layer_norm},
      {.op = "aten.prod.default", .translate = product_of_all},
      {.op = "aten.prod.dim_int", .translate = product},
      {.op = "aten.sum.dim_IntList",
       .translate = sum,
       .integers = IntegerForm::Own,
       .translate_integers = sum_of_integers},
      {.op = "aten.var.correction", .translate = variance},
  };
  return rules;
}

}  // namespace depute::tosa::ops
