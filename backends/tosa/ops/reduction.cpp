// Sums, means, extremes and normalizations along dimensions.
#include <algorithm>
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

// The sum of all elements as i32, and its scale; or the mean's.
template <bool is_mean>
Check total_of_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("self"));
  const auto scale = emit.wanted(*call.node()->result());
  if (!x || !scale)
    return refuse_integers(x ? "a result that is not quantized" : "an operand without integers");
  const auto dims = dimensions(call, "dim", x->tensor.rank());
  std::int64_t count = 1;
  for (const std::size_t dim : dims) count *= x->tensor.shape[dim];
  constexpr std::int64_t max_count = std::int64_t{1} << 23;  // sums of 8 bits and a sign stay within i32
  if (count > max_count) return refuse_integers("sums of more than 2^23 elements");
  const Tensor wide = emit.rescale(x->tensor, x->quantization.zero_point, DType::I32, 0, 1);
  const double factor = x->quantization.scale / scale->scale / (is_mean ? static_cast<double>(count) : 1);
  return emit.integer_result(emit.rescale(emit.sum(wide, dims), 0, DType::I8, scale->zero_point, factor),
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

// The extreme alone, without its place.
template <Op op>
Check extreme_of_dim(Emitter& emit, const OpCall& call) {
  if (call.node()->results().size() > 1 && call.node()->result(1)->has_uses())
    return Refusal{"unused-result", "result 1 is used", "result 0 alone"};
  const Tensor x = emit.input(call, "self");
  return x.rank() == 0 ? emit.result(x) : result(emit, emit.reduce(op, x, dimension(call, "dim", x.rank())));
}

template <Op op>
Check of_bools(Emitter& emit, const OpCall& call) {
  Tensor x = emit.cast(emit.input(call, "self"), DType::Bool);
  std::vector<std::size_t> dims = dimensions(call, "dim", x.rank());
  for (const std::size_t dim : dims) x = emit.reduce(op, x, dim);
  return result(emit, x);
}

Check product(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  return x.rank() == 0 ? emit.result(x)
                       : result(emit, emit.reduce(Op::ReduceProduct, x, dimension(call, "dim", x.rank())));
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

Normalized normalized(Emitter& emit, const Tensor& x, std::span<const std::size_t> dims, double eps) {
  const Tensor mean = emit.mean(x, dims);
  const Tensor centered = emit.add(Op::Sub, {x, mean});
  const Tensor variance = emit.mean(emit.mul(centered, centered), dims);
  const Tensor inverse = emit.add(Op::Rsqrt, {emit.add(Op::Add, variance, eps)});
  return {emit.mul(centered, inverse), mean, inverse};
}

// Results 1 and 2 are the mean and one over the deviation.
Check statistics(Emitter& emit, const Node& node, const Normalized& made) {
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.result(i)->has_uses()) continue;
    DEPUTE_REFUSE_IF(
        emit.result(emit.reshape(i == 1 ? made.mean : made.inverse_deviation, emit.result_shape(i)), i));
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

// The fractions of batch_norm are computed beforehand where they are constants: x * scale + shift.
Check batch_norm(Emitter& emit, const OpCall& call) {
  for (std::size_t i = 1; i < call.node()->results().size(); ++i) {
    if (call.node()->result(i)->has_uses())
      return Refusal{"unused-result", "a result after the first is used", "result 0 alone"};
  }
  const Tensor x = emit.input(call, "input");
  const Tensor variance = emit.input(call, "running_var");
  Tensor scale = emit.add(Op::Rsqrt, {emit.add(Op::Add, variance, call.number("eps"))});
  if (!call["weight"].is_none()) scale = emit.mul(scale, emit.input(call, "weight"));
  Tensor shift = emit.negate(emit.mul(emit.input(call, "running_mean"), scale));
  if (!call["bias"].is_none()) shift = emit.add(Op::Add, {shift, emit.input(call, "bias")});
  const Tensor scaled = emit.mul(x, by_channel(emit, scale, x.rank()));
  return emit.result(emit.add(Op::Add, {scaled, by_channel(emit, shift, x.rank())}));
}

// A product with a triangle of ones.
Check cumsum(Emitter& emit, const OpCall& call) {
  constexpr std::int64_t max_size = 1024;
  const Tensor x = emit.cast(emit.input(call, "self"), emit.result_dtype());
  if (x.rank() == 0) return emit.result(x);
  const std::size_t dim = dimension(call, "dim", x.rank());
  const std::int64_t size = x.shape[dim];
  if (size > max_size) return Refusal{"argument", std::to_string(size), "at most 1024 elements along dim"};
  if (x.dtype != DType::F32) return Refusal{"dtype", std::string(name(x.dtype)), "f32"};
  std::vector<float> ones(static_cast<std::size_t>(size * size));
  for (std::int64_t row = 0; row < size; ++row) {
    for (std::int64_t column = row; column < size; ++column)
      ones[static_cast<std::size_t>(row * size + column)] = 1;
  }
  const Tensor triangle = emit.constant(weights::constant_of(
      "", make_data<float>(ScalarType::F32, {1, size, size}, std::span<const float>(ones))));
  Order last;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != dim) last.push_back(static_cast<std::uint8_t>(i));
  }
  last.push_back(static_cast<std::uint8_t>(dim));
  const Tensor turned = emit.permute(x, last);
  const Shape rows = {1, element_count(x.shape) / size, size};
  const Tensor zero = emit.zero_point(x.dtype);
  const Tensor made =
      emit.raw(Op::MatMul, {emit.in_rows(emit.reshape(turned, rows)), triangle, zero, zero}, x.dtype, rows);
  return emit.result(emit.permute(emit.reshape(made, turned.shape), weights::inverse(last)));
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
      {.op = "aten.all.default", .translate = of_bools<ReduceAll>},
      {.op = "aten.amax.default", .translate = extreme<ReduceMax>, .integers = IntegerForm::SameScale},
      {.op = "aten.amin.default", .translate = extreme<ReduceMin>, .integers = IntegerForm::SameScale},
      {.op = "aten.any.default", .translate = of_bools<ReduceAny>},
      {.op = "aten.cumsum.default",
       .conditions = "f32; at most 1024 elements along dim",
       .translate = cumsum},
      {.op = "aten.max.dim",
       .conditions = "result 0 alone",
       .translate = extreme_of_dim<ReduceMax>,
       .integers = IntegerForm::SameScale},
      {.op = "aten.mean.dim",
       .translate = mean,
       .integers = IntegerForm::Own,
       .translate_integers = mean_of_integers},
      {.op = "aten.min.dim",
       .conditions = "result 0 alone",
       .translate = extreme_of_dim<ReduceMin>,
       .integers = IntegerForm::SameScale},
      {.op = "aten.native_group_norm.default", .translate = group_norm},
      {.op = "aten.native_layer_norm.default", .translate = layer_norm},
      {.op = "aten.prod.dim_int", .translate = product},
      {.op = "aten.sum.dim_IntList",
       .translate = sum,
       .integers = IntegerForm::Own,
       .translate_integers = sum_of_integers},
  };
  return rules;
}

}  // namespace depute::tosa::ops
