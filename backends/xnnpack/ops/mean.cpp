// Means and sums over dimensions. XNNPACK averages two dimensions that are not the last; over the last one a
// product with a column of weights is faster.
#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"

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

bool is_last_alone(const std::vector<std::uint32_t>& dims, const Dims& sizes) {
  return dims.size() == 1 && dims[0] + 1 == sizes.size() && sizes.back().is_constant();
}

Check check_reduction(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(need_ints(node, "dim"));
  const TensorType& self = node.tensor("self");
  if (node.has("dtype") && node.call["dtype"].as_scalar_type() != self.dtype) {
    return refuse_argument(node, "dtype", fmt::format("none, {}", name(self.dtype)));
  }
  DEPUTE_REFUSE_IF(need_rank(self, 1, 5));
  // These need no reshape between.
  const bool is_plain =
      self.rank() >= 3 && reduced_dims(node.call, self.sizes).size() == 2 && node.call["keepdim"].as_bool();
  if (is_plain || is_last_alone(reduced_dims(node.call, self.sizes), self.sizes)) return {};
  return need_reshapable(self);
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

// A product with a column of `weight`s: the last dimension becomes 1.
ValueId weigh_last(Emitter& emit, ValueId x, double weight) {
  Dims result = emit.sizes(x);
  const ValueId column = emit.constant(filled(emit.dtype(x), {1, result.back()}, weight));
  result.back() = 1;
  return emit.add_sized(NodeKind::FullyConnected, {x, column, no_value}, result);
}

// Averages one or two dimensions, which keep size 1. XNNPACK wants two, and one behind them: a dimension of
// size 1 is put behind a single one, and what follows is made one dimension where its sizes are known.
ValueId average(Emitter& emit, ValueId x, const std::vector<std::uint32_t>& dims) {
  Dims sizes = emit.sizes(x);
  Axes axes{dims};
  if (dims.size() == 1) {
    axes.dims = {dims[0], dims[0] + 1};
    const auto behind = sizes.begin() + dims[0] + 1;
    if (symbolic_count(Dims(behind, sizes.end())) == 0) {
      const SymInt count = product(std::vector<SymInt>(behind, sizes.end()));
      sizes.erase(behind, sizes.end());
      sizes.push_back(1);
      sizes.push_back(count);
    } else {
      sizes.insert(behind, SymInt(1));
    }
  }
  if (sizes.size() == 2) sizes.push_back(1);
  x = emit.reshape(x, sizes);
  for (std::uint32_t dim : axes.dims) sizes[dim] = 1;
  return emit.add_sized(NodeKind::GlobalAvgPooling2d, {x}, sizes, std::move(axes));
}

ValueId reduce_mean(Emitter& emit, ValueId x, std::vector<std::uint32_t> dims) {
  const Dims sizes = emit.sizes(x);
  if (dims.empty()) return x;
  if (is_last_alone(dims, sizes)) return weigh_last(emit, x, 1 / static_cast<double>(sizes.back().value()));
  std::vector<std::uint32_t> rest;
  if (dims.size() > 2) rest.assign(dims.begin(), dims.end() - 2);
  std::vector<std::uint32_t> last(
      dims.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(dims.size(), 2)), dims.end());
  Dims kept = sizes;
  for (std::uint32_t dim : last) kept[dim] = 1;
  x = emit.reshape(average(emit, x, last), kept);
  return reduce_mean(emit, x, std::move(rest));
}

void mean(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.reshape(reduce_mean(emit, x, reduced_dims(call, emit.sizes(x))), emit.result_sizes()));
}

void sum(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::vector<std::uint32_t> dims = reduced_dims(call, emit.sizes(x));
  if (is_last_alone(dims, emit.sizes(x))) {
    return emit.result(emit.reshape(weigh_last(emit, x, 1), emit.result_sizes()));
  }
  double count = 1;
  for (std::uint32_t dim : dims) count *= static_cast<double>(emit.sizes(x)[dim].value());
  ValueId y = emit.reshape(reduce_mean(emit, x, dims), emit.result_sizes());
  if (count != 1) y = emit.add(NodeKind::Multiply, {y, emit.number(count, y)});
  emit.result(y);
}

constexpr OpRule rules[] = {
    {.op = "aten.mean.dim",
     .conditions = "1 to 5 dimensions; no other dtype",
     .check = check_reduction,
     .translate = mean},
    {.op = "aten.sum.dim_IntList",
     .conditions = "1 to 5 dimensions; constant sizes; no other dtype",
     .check = check_sum,
     .translate = sum},
};

}  // namespace

std::span<const OpRule> mean() {
  return rules;
}

}  // namespace depute::xnnpack::ops
