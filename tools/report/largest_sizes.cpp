#include "tools/report/largest_sizes.h"

#include <algorithm>

#include "depute/program/op.h"

namespace depute {
namespace {

// The result is limited to integers that a double represents exactly.
std::optional<std::uint64_t> largest_product(std::uint64_t start, const Dims& factors, const Ranges& ranges) {
  constexpr double limit = 9e15;
  double product = static_cast<double>(start);
  for (const SymInt& factor : factors) {
    const std::int64_t size = factor.is_constant() ? factor.value() : bounds(factor, ranges).max;
    if (size == Range::max_bound) return std::nullopt;
    product *= static_cast<double>(std::max<std::int64_t>(size, 0));
  }
  return static_cast<std::uint64_t>(std::min(product, limit));
}

}  // namespace

std::optional<std::uint64_t> largest_bytes(const TensorType& type, const Ranges& ranges) {
  return largest_product(item_size(type.dtype), type.sizes, ranges);
}

std::optional<std::uint64_t> largest_macs(const Node& node, const Ranges& ranges) {
  if (node.def() == nullptr || node.def()->macs == nullptr) return 0;
  return largest_product(1, node.def()->macs(OpCall(node)), ranges);
}

}  // namespace depute
