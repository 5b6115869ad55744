// Means and sums over dimensions.
#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"
#include "reductions.h"

namespace depute::xnnpack::ops {
namespace {

// Returns the dimensions to reduce, in ascending order, without dimensions of size 1.
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

Check check_reduction(const NodeQuery& node) {
  const TensorType& self = node.tensor("self");
  if (node.has("dtype") && node.call["dtype"].as_scalar_type() != self.dtype) {
    return refuse_argument(node, "dtype", fmt::format("none, {}", name(self.dtype)));
  }
  // These cases need no reshape in between.
  const std::vector<std::uint32_t> dims = reduced_dims(node.call, self.sizes);
  const bool is_last = is_last_alone(dims, self.sizes);
  const bool is_plain = is_last || (self.rank() >= 3 && dims.size() == 2);
  if (is_plain && node.call["keepdim"].as_bool()) return {};
  return need_reshapable(is_last ? node.result() : self);
}

Check check_sum(const NodeQuery& node) {
  const TensorType& self = node.tensor("self");
  DEPUTE_REFUSE_IF(check_reduction(node));
  for (std::uint32_t dim : reduced_dims(node.call, self.sizes)) {
    if (!self.sizes[dim].is_constant())
      return Refusal{"dynamic-shape", sizes_text(self.sizes), "constant sizes"};
  }
  return {};
}

void mean(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.reshape(reduce_mean(emit, x, reduced_dims(call, emit.sizes(x))), emit.result_sizes()));
}

void sum(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.reshape(reduce_sum(emit, x, reduced_dims(call, emit.sizes(x))), emit.result_sizes()));
}

}  // namespace

std::span<const OpRule> mean() {
  static constexpr Limit limits[] = {limit::ints("dim"), limit::ranks("self", 1, 5)};
  static constexpr OpRule rules[] = {
      {.op = "aten.mean.dim",
       .conditions = "no other dtype",
       .forms = {limits},
       .check = check_reduction,
       .translate = mean},
      {.op = "aten.sum.dim_IntList",
       .conditions = "constant sizes of dim; no other dtype",
       .forms = {limits},
       .check = check_sum,
       .translate = sum},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
