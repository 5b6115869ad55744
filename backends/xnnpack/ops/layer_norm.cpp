// Layer normalization over the last dimension as several nodes. This is cheaper for many short rows; other
// sizes stay on ExecuTorch's kernel (costs.h). The option layer_norm overrides this choice.
#include <fmt/format.h>

#include "costs.h"
#include "emitter.h"
#include "node_query.h"
#include "payload/write_payload.h"

namespace depute::xnnpack::ops {
namespace {

// Costs at the largest sizes. Unbounded sizes are refused elsewhere.
Costs costs_of(const NodeQuery& node) {
  const Dims& sizes = node.tensor("input").sizes;
  static const Ranges none;
  const Ranges& ranges = node.context().program ? node.context().program->ranges : none;
  double rows = 1;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows *= upper_bound(sizes[i], ranges).value_or(1);
  return layer_norm_costs(rows, upper_bound(sizes.back(), ranges).value_or(1));
}

Check check_layer_norm(const NodeQuery& node) {
  if (node.call.ints("normalized_shape").size() != 1)
    return refuse_argument(node, "normalized_shape", "one dimension");
  switch (node.options().layer_norm) {
    case Setting::Always:
      return {};
    case Setting::Never:
      return Refusal{"kernel", "layer_norm=false", "layer_norm=true"};
    case Setting::ByCost:
      break;
  }
  const Costs costs = costs_of(node);
  if (!is_dearer(costs)) return {};
  const std::string seen = fmt::format("ExecuTorch's kernel: about {}, XNNPACK: {}", cost_text(costs.outside),
                                       cost_text(costs.inside));
  return Refusal{"kernel", seen, "layer_norm=true"};
}

// A mean over the last dimension is a product with a column of 1 / n.
void layer_norm(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  const ValueId x = emit.input(call, "input");
  Dims one = emit.sizes(x);
  const SymInt n = one.back();
  one.back() = 1;
  const ValueId column = emit.constant(filled(emit.dtype(x), {1, n}, 1 / static_cast<double>(n.value())));
  const ValueId mean = emit.add_sized(FullyConnected, {x, column, no_value}, one);
  const ValueId centered = emit.add(Subtract, {x, mean});
  const ValueId variance =
      emit.add_sized(FullyConnected, {emit.add(Square, {centered}), column, no_value}, one);
  const ValueId shifted = emit.add(Add, {variance, emit.number(call["eps"].as_double(), variance)});
  ValueId y = emit.add(Multiply, {centered, emit.add(ReciprocalSquareRoot, {shifted})});
  const ValueId weight = emit.optional_input(call, "weight");
  const ValueId bias = emit.optional_input(call, "bias");
  if (weight != no_value) y = emit.add(Multiply, {y, weight});
  if (bias != no_value) y = emit.add(Add, {y, bias});
  emit.result(y);
}

}  // namespace

std::span<const OpRule> layer_norm() {
  // Requires f32: with f16 inputs, the variance would be computed in f16.
  static constexpr Limit limits[] = {limit::ints("normalized_shape"), limit::number("eps"),
                                     limit::ranks("input", 2, 6), limit::dtype("input", ScalarType::F32),
                                     limit::first_result_alone()};
  static constexpr OpRule rules[] = {
      {.op = "aten.native_layer_norm.default",
       .conditions = "over the last dimension; cheaper than ExecuTorch's kernel, or layer_norm=true",
       .forms = {limits},
       .check = check_layer_norm,
       .translate = layer_norm},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
