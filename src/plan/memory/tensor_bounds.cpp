#include "plan/memory/tensor_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "plan/plan.h"

namespace depute {
namespace {

constexpr std::int64_t max_size = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t max_tensor_bytes = std::uint64_t{1} << 40;

// Returns the first symbol of the expression whose upper bound is too large to plan with, or nullopt.
std::optional<std::string> unbounded_symbol(const SymInt& size, const Ranges& ranges) {
  for (Name symbol : symbols_of(size.expr())) {
    auto range = ranges.find(symbol.str());
    if (range == ranges.end() || range->second.max > max_size) return std::string(symbol.str());
  }
  return std::nullopt;
}

Failure unbounded(const Value& value, std::size_t dim, const Ranges& ranges, Name method) {
  const SymInt& size = value.tensor().sizes[dim];
  if (size.is_constant()) {
    return plan_error(method, value.producer(),
                      fmt::format("dimension {} of %{} has {} elements; the runtime supports at most {}", dim,
                                  value.name().str(), size.value(), max_size));
  }
  const std::string symbol = unbounded_symbol(size, ranges).value_or(size.str());
  Failure failure = plan_error(
      method, value.producer(),
      fmt::format("dimension {} of %{} has size {}, which requires an upper bound on {}", dim,
                  value.name().str(), size.str(), symbol),
      fmt::format("lower with --bound {}=..N, export with torch.export.Dim(..., max=N), or check the size "
                  "in the model (torch._check(n <= N))",
                  symbol));
  failure.error().code = no_bound;
  return failure;
}

// Returns the stride of the outermost dimension, in which sizes of 0 count as 1.
double max_stride(const PlanTensor& tensor) {
  double stride = 1;
  for (std::size_t i = 1; i < tensor.sizes.size(); ++i)
    stride *= std::max(tensor.sizes[tensor.dim_order[i]], std::int32_t{1});
  return stride;
}

Result<BoundedTensor> bounded_tensor(const Value& value, const Ranges& ranges, Name method) {
  const TensorType& type = value.tensor();
  auto fail = [&](std::string_view message) {
    return plan_error(method, value.producer(), fmt::format("%{}: {}", value.name().str(), message));
  };
  BoundedTensor result;
  auto number = executorch_number(type.dtype);
  if (!number) return fail(fmt::format("the runtime does not support dtype {}", name(type.dtype)));
  if (type.rank() > max_rank)
    return fail(fmt::format("rank {} is too high; the runtime supports at most {}", type.rank(), max_rank));
  result.tensor.scalar_type = *number;
  result.bytes = item_size(type.dtype);
  for (std::size_t i = 0; i < type.rank(); ++i) {
    Range range = type.sizes[i].is_constant() ? Range{type.sizes[i].value(), type.sizes[i].value()}
                                              : bounds(type.sizes[i], ranges);
    if (range.max > max_size || range.max < 0) return unbounded(value, i, ranges, method);
    if (range.min != range.max) result.tensor.dynamism = ShapeDynamism::DynamicBound;
    result.tensor.sizes.push_back(static_cast<std::int32_t>(range.max));
    // Both factors are limited, so the product does not overflow.
    result.bytes *= static_cast<std::uint64_t>(range.max);
    if (result.bytes > max_tensor_bytes) return fail("the tensor is larger than 1 TiB");
  }
  auto order = dim_order(type);
  if (!order) {
    return fail(fmt::format("{} is not dense, but the runtime supports dense tensors only", str(type)));
  }
  result.tensor.dim_order.assign(order->begin(), order->end());
  if (max_stride(result.tensor) > max_size)
    return fail(
        fmt::format("{} has strides above {}; the runtime's strides have 32 bits", str(type), max_size));
  return result;
}

// Returns a placeholder for a tensor that the runtime cannot hold: no bytes, but the rank that kernels check.
BoundedTensor placeholder(const TensorType& type) {
  BoundedTensor result;
  result.tensor.scalar_type = executorch_number(type.dtype).value_or(0);
  result.tensor.sizes.assign(type.rank(), 0);
  result.tensor.dim_order.resize(type.rank());
  std::iota(result.tensor.dim_order.begin(), result.tensor.dim_order.end(), std::uint8_t{0});
  return result;
}

// Returns the first unbounded symbol among the sizes, or nullopt.
std::optional<std::string> unbounded_symbol(const TensorType& type, const Ranges& ranges) {
  for (const SymInt& size : type.sizes) {
    if (size.is_constant() || bounds(size, ranges).max <= max_size) continue;
    if (auto symbol = unbounded_symbol(size, ranges)) return symbol;
  }
  return std::nullopt;
}

}  // namespace

Failure plan_error(Name method, const Node* node, std::string_view message, std::string_view hint) {
  std::string where = fmt::format("method {}", method.str());
  if (node == nullptr) return failure("plan", where, message, hint);
  return node_failure(*node, "plan", message, hint, fmt::format("{}, node {}", where, node->display_name()));
}

BoundedTensor TensorBounds::bound(const Value& value, std::vector<RefusedNode>& refused) {
  constexpr std::int64_t stand_in = 16;
  while (true) {
    Result<BoundedTensor> tensor = bounded_tensor(value, ranges_, method_);
    if (tensor) return std::move(*tensor);
    const std::optional<std::string> symbol = unbounded_symbol(value.tensor(), ranges_);
    refused.push_back({value.producer(), std::move(tensor).error()});
    if (!symbol) return placeholder(value.tensor());
    Range& range = ranges_[*symbol];
    range.min = std::clamp<std::int64_t>(range.min, 0, max_size);
    range.max = std::max(range.min, stand_in);
  }
}

}  // namespace depute
