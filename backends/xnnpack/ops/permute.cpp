// Reorders dimensions. After layout assignment, a remaining permute becomes a transpose.
#include <utility>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

void permute(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const auto rank = static_cast<std::int64_t>(emit.rank(x));
  Order order;
  for (std::int64_t dim : call.ints("dims"))
    order.push_back(static_cast<std::uint8_t>(dim < 0 ? dim + rank : dim));
  emit.result(emit.permute(x, order));
}

void transpose(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  Order order = identity_order(emit.rank(x));
  if (!order.empty()) {
    std::swap(order[dimension(call, "dim0", order.size())], order[dimension(call, "dim1", order.size())]);
  }
  emit.result(emit.permute(x, order));
}

void transpose_matrix(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  emit.result(emit.rank(x) < 2 ? x : emit.permute(x, {1, 0}));
}

}  // namespace

std::span<const OpRule> permute() {
  static constexpr Limit limits[] = {limit::ints("dims")};
  static constexpr OpRule rules[] = {
      {.op = "aten.permute.default", .forms = {limits}, .translate = permute},
      {.op = "aten.t.default", .translate = transpose_matrix},
      {.op = "aten.transpose.int", .translate = transpose},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
