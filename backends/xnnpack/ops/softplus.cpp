// softplus, log_sigmoid and mish. XNNPACK has no log1p, and its Log is inexact near 1, so that
// log(1 + e^-|x|) is computed as a series.
//
//   softplus(x)     max(x, 0) + log(1 + e^-|x|)
//   log_sigmoid(x)  min(x, 0) - log(1 + e^-|x|)
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// log(1 + e^-|x|), to a few units in the last place. With e = e^-|x| and s = e / (e + 2), which is at most
// 1 / 3, it is 2 artanh(s).
ValueId log1p_of_decay(Emitter& emit, ValueId x) {
  using enum NodeKind;
  // 2 artanh(s) / s by powers of s^2, the highest first; off by at most 8e-9 of it.
  constexpr double series[] = {0.281746581254687, 0.279614195854018, 0.400248535804039, 0.666663159419815, 2};
  const ValueId decay = emit.add(Exp, {emit.add(Negate, {emit.add(Abs, {x})})});
  const ValueId s = emit.add(Div, {decay, emit.add(Add, {decay, emit.number(2, x)})});
  const ValueId square = emit.add(Square, {s});
  ValueId sum = emit.number(series[0], x);
  for (double coefficient : std::span(series).subspan(1)) {
    sum = emit.add(Add, {emit.add(Multiply, {square, sum}), emit.number(coefficient, x)});
  }
  return emit.add(Multiply, {s, sum});
}

void softplus(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  ValueId x = emit.input(call, "self");
  const double beta = call["beta"].as_double();
  if (beta != 1) x = emit.add(Multiply, {x, emit.number(beta, x)});
  const ValueId positive = emit.clamp(x, 0, XnnNode::infinity);
  const ValueId y = emit.add(Add, {positive, log1p_of_decay(emit, x)});
  emit.result(beta == 1 ? y : emit.add(Div, {y, emit.number(beta, y)}));
}

void log_sigmoid(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const ValueId negative = emit.clamp(x, -XnnNode::infinity, 0);
  emit.result(emit.add(NodeKind::Subtract, {negative, log1p_of_decay(emit, x)}));
}

// x * tanh(log(1 + e^x)) = x * n / (n + 2) with n = e^x * (e^x + 2). The quotient is 1 long before e^x
// overflows.
void mish(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  const ValueId x = emit.input(call, "self");
  const ValueId growth = emit.add(Exp, {emit.clamp(x, -XnnNode::infinity, 20)});
  const ValueId n = emit.add(Multiply, {growth, emit.add(Add, {growth, emit.number(2, x)})});
  const ValueId gate = emit.add(Div, {n, emit.add(Add, {n, emit.number(2, x)})});
  emit.result(emit.add(Multiply, {x, gate}));
}

}  // namespace

std::span<const OpRule> softplus() {
  using namespace limit;
  // Above the threshold torch returns x: from 15 on, x is what f32 rounds softplus to.
  static constexpr Limit scaled[] = {dtype("self", ScalarType::F32), above("beta", 0),
                                     above("threshold", 15)};
  static constexpr Limit single[] = {dtype("self", ScalarType::F32)};
  static constexpr OpRule rules[] = {
      {.op = "aten.log_sigmoid.default", .forms = {single}, .keep_whole = true, .translate = log_sigmoid},
      {.op = "aten.mish.default", .forms = {single}, .keep_whole = true, .translate = mish},
      {.op = "aten.softplus.default", .forms = {scaled}, .keep_whole = true, .translate = softplus},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
