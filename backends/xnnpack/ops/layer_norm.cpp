// Layer normalisation over the last dimension, by its parts. ExecuTorch's own kernel is faster, so that it is
// taken only when asked for (layer_norm=true).
#include <fmt/format.h>

#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

Check check_layer_norm(const NodeQuery& node) {
  if (!node.options().layer_norm)
    return Refusal{"kernel", "ExecuTorch's kernel is faster", "layer_norm=true"};
  if (node.call.ints("normalized_shape").size() != 1)
    return refuse_argument(node, "normalized_shape", "one dimension");
  return {};
}

// Means over the last dimension are products with a column of 1 / n.
void layer_norm(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  const ValueId x = emit.input(call, "input");
  Dims one = emit.sizes(x);
  const SymInt n = one.back();
  one.back() = 1;
  const ValueId column = emit.constant(filled(emit.dtype(x), {1, n}, 1 / static_cast<double>(n.value())));
  const ValueId mean = emit.add_sized(FullyConnected, {x, column, no_value}, one);
  const ValueId centred = emit.add(Subtract, {x, mean});
  const ValueId variance =
      emit.add_sized(FullyConnected, {emit.add(Square, {centred}), column, no_value}, one);
  const ValueId shifted = emit.add(Add, {variance, emit.number(call["eps"].as_double(), variance)});
  ValueId y = emit.add(Multiply, {centred, emit.add(ReciprocalSquareRoot, {shifted})});
  const ValueId weight = emit.optional_input(call, "weight");
  const ValueId bias = emit.optional_input(call, "bias");
  if (weight != no_value) y = emit.add(Multiply, {y, weight});
  if (bias != no_value) y = emit.add(Add, {y, bias});
  emit.result(y);
}

}  // namespace

std::span<const OpRule> layer_norm() {
  // The variance of half floats would be computed in half floats.
  static constexpr Limit limits[] = {limit::ints("normalized_shape"), limit::number("eps"),
                                     limit::ranks("input", 2, 6), limit::dtype("input", ScalarType::F32),
                                     limit::first_result_alone()};
  static constexpr OpRule rules[] = {
      {.op = "aten.native_layer_norm.default",
       .conditions = "layer_norm=true; over the last dimension",
       .forms = {limits},
       .check = check_layer_norm,
       .translate = layer_norm},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
