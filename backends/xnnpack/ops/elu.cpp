// Activations with a coefficient for negative inputs: elu, leaky_relu, prelu.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

void elu(Emitter& emit, const OpCall& call) {
  const Coefficient alpha{static_cast<float>(call["alpha"].as_double())};
  ValueId y = emit.add(NodeKind::Elu, {emit.input(call, "self")}, alpha);
  const double scale = call["scale"].as_double();
  if (scale != 1) y = emit.add(NodeKind::Multiply, {y, emit.number(scale, y)});
  emit.result(y);
}

void leaky_relu(Emitter& emit, const OpCall& call) {
  const Coefficient slope{static_cast<float>(call["negative_slope"].as_double())};
  emit.result(emit.add(NodeKind::Leaky, {emit.input(call, "self")}, slope));
}

// The weight has one slope, or one per index of dimension 1.
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
  static constexpr double one[] = {1};
  static constexpr Limit limits[] = {limit::number("scale"), limit::one_of("input_scale", one),
                                     limit::above("alpha", 0)};
  static constexpr Limit slope[] = {limit::number("negative_slope")};
  static constexpr Limit weights[] = {limit::constant("weight"), limit::ranks("weight", 0, 1)};
  static constexpr OpRule rules[] = {
      {.op = "aten.elu.default", .forms = {limits}, .keep_whole = true, .translate = elu},
      {.op = "aten.leaky_relu.default", .forms = {slope}, .translate = leaky_relu},
      {.op = "aten.prelu.default", .forms = {weights}, .keep_whole = true, .translate = prelu},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
