// Activations with a coefficient for negative inputs: elu, leaky_relu, prelu.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

Check check_elu(const NodeQuery& node) {
  for (std::string_view name : {"alpha", "scale", "input_scale"}) DEPUTE_REFUSE_IF(need_number(node, name));
  if (node.call["input_scale"].as_double() != 1) return refuse_argument(node, "input_scale", "1");
  if (node.call["alpha"].as_double() <= 0) return refuse_argument(node, "alpha", "more than 0");
  return {};
}

void elu(Emitter& emit, const OpCall& call) {
  const Coefficient alpha{static_cast<float>(call["alpha"].as_double())};
  ValueId y = emit.add(NodeKind::Elu, {emit.input(call, "self")}, alpha);
  const double scale = call["scale"].as_double();
  if (scale != 1) y = emit.add(NodeKind::Multiply, {y, emit.number(scale, y)});
  emit.result(y);
}

Check check_leaky_relu(const NodeQuery& node) {
  return need_number(node, "negative_slope");
}

void leaky_relu(Emitter& emit, const OpCall& call) {
  const Coefficient slope{static_cast<float>(call["negative_slope"].as_double())};
  emit.result(emit.add(NodeKind::Leaky, {emit.input(call, "self")}, slope));
}

Check check_prelu(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(need_constant(node, "weight"));
  return need_rank(node.tensor("weight"), 0, 1);
}

// One slope, or one for each index of dimension 1.
void prelu(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  ValueId slopes = emit.input(call, "weight");
  Dims wide(emit.rank(x) < 2 ? emit.rank(x) : emit.rank(x) - 1, SymInt(1));
  if (!wide.empty() && emit.rank(slopes) == 1) wide[0] = emit.sizes(slopes)[0];
  slopes = emit.reshape(slopes, wide);
  emit.result(emit.add(NodeKind::PRelu, {x, slopes}));
}

}  // namespace

std::span<const OpRule> elu() {
  static constexpr OpRule rules[] = {
      {.op = "aten.elu.default",
       .conditions = "input_scale 1, alpha > 0",
       .keep_whole = true,
       .check = check_elu,
       .translate = elu},
      {.op = "aten.leaky_relu.default", .check = check_leaky_relu, .translate = leaky_relu},
      {.op = "aten.prelu.default",
       .conditions = "constant weight",
       .keep_whole = true,
       .check = check_prelu,
       .translate = prelu},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
