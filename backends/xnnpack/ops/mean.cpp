// Means, sums and variances over dimensions.
#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"
#include "reductions.h"

namespace depute::xnnpack::ops {
namespace {

// The dimensions to reduce, ascending, without those of size 1.
std::vector<std::uint32_t> reduced_dims(const OpCall& call, const Dims& sizes) {
  std::vector<bool> is_reduced(sizes.size(), false);
  const std::vector<std::int64_t> dims = call.ints("dim");
  for (std::int64_t dim : dims) {
    is_reduced[static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(sizes.size()) : dim)] =
        true;
  }
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    if ((dims.empty() || is_reduced[i]) && !(sizes[i] == 1)) result.push_back(i);
  }
  return result;
}

Check check_sizes(const NodeQuery& node) {
  const TensorType& self = node.tensor("self");
  // These need no reshape between.
  const std::vector<std::uint32_t> dims = reduced_dims(node.call, self.sizes);
  const bool is_last = is_last_alone(dims, self.sizes);
  const bool is_plain = is_last || (self.rank() >= 3 && dims.size() == 2);
  if (is_plain && node.call["keepdim"].as_bool()) return {};
  return need_reshapable(is_last ? node.result() : self);
}

Check check_mean(const NodeQuery& node) {
  const ScalarType dtype = node.tensor("self").dtype;
  if (node.has("dtype") && node.call["dtype"].as_scalar_type() != dtype) {
    return refuse_argument(node, "dtype", fmt::format("none, {}", name(dtype)));
  }
  return check_sizes(node);
}

Check need_constant_sizes(const NodeQuery& node) {
  const Dims& sizes = node.tensor("self").sizes;
  for (std::uint32_t dim : reduced_dims(node.call, sizes)) {
    if (!sizes[dim].is_constant()) return Refusal{"dynamic-shape", sizes_text(sizes), "constant sizes"};
  }
  return {};
}

Check check_sum(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_mean(node));
  return need_constant_sizes(node);
}

// Elements of `sizes` that are reduced to one.
double reduced_count(const std::vector<std::uint32_t>& dims, const Dims& sizes) {
  double count = 1;
  for (std::uint32_t dim : dims) count *= static_cast<double>(sizes[dim].value());
  return count;
}

double correction_of(const OpCall& call) {
  return call["correction"].is_none() ? 1 : call["correction"].as_double();
}

Check check_variance(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(check_sizes(node));
  DEPUTE_REFUSE_IF(need_constant_sizes(node));
  const Dims& sizes = node.tensor("self").sizes;
  if (correction_of(node.call) < reduced_count(reduced_dims(node.call, sizes), sizes)) return {};
  return refuse_argument(node, "correction", "less than the number of elements");
}

void mean(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.reshape(reduce_mean(emit, x, reduced_dims(call, emit.sizes(x))), emit.result_sizes()));
}

void sum(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.reshape(reduce_sum(emit, x, reduced_dims(call, emit.sizes(x))), emit.result_sizes()));
}

// The mean of (x - mean)^2, times n / (n - correction).
void variance(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  const ValueId x = emit.input(call, "self");
  const std::vector<std::uint32_t> dims = reduced_dims(call, emit.sizes(x));
  const ValueId centered = emit.add(Subtract, {x, reduce_mean(emit, x, dims)});
  ValueId y = reduce_mean(emit, emit.add(Square, {centered}), dims);
  const double count = reduced_count(dims, emit.sizes(x));
  const double correction = correction_of(call);
  if (correction != 0) y = emit.add(Multiply, {y, emit.number(count / (count - correction), y)});
  emit.result(emit.reshape(y, emit.result_sizes()));
}

}  // namespace

std::span<const OpRule> mean() {
  static constexpr Limit limits[] = {limit::ints("dim"), limit::ranks("self", 1, 5)};
  // Half floats would be squared and summed as half floats.
  static constexpr Limit squares[] = {limit::dtype("self", ScalarType::F32), limit::number("correction"),
                                      limit::ints("dim"), limit::ranks("self", 1, 5)};
  static constexpr OpRule rules[] = {
      {.op = "aten.mean.dim",
       .conditions = "no other dtype",
       .forms = {limits},
       .check = check_mean,
       .translate = mean},
      {.op = "aten.sum.dim_IntList",
       .conditions = "constant sizes of dim; no other dtype",
       .forms = {limits},
       .check = check_sum,
       .translate = sum},
      {.op = "aten.var.correction",
       .conditions = "constant sizes of dim; correction less than their product",
       .forms = {squares},
       .check = check_variance,
       .translate = variance},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
