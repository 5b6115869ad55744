// Defines an op as another name of an op with the same arguments in the same order, and the same results.
//
//   {"aten.multiply.Tensor", renamed_binary<"aten.mul.Tensor">()},
//
// A line without arguments has those of the other op.
#pragma once

#include "depute/program/builder.h"
#include "ops/op_table.h"

namespace depute::internal {

template <Text op>
Types infer_renamed(const OpCall& call) {
  const OpDef* target = torch_ops()->find(Name(op.chars));
  return target->infer(OpCall(*target, call.args(), {}));
}
template <Text op>
Replacement call_renamed(Builder& b, const OpCall& call) {
  return b.call_all(op.chars, call.args());
}
template <Text op>
constexpr OpRules renamed(OpFlag flags = None) {
  return {.flags = flags, .infer = infer_renamed<op>, .decompose = call_renamed<op>, .same_as = op.chars};
}

// Two promoted operands; either may be a number.
template <Text op>
constexpr OpRules renamed_binary(OpFlag flags = Pointwise | InPlaceVariant) {
  OpRules rules = renamed<op>(flags);
  rules.promotes = "self other";
  return rules;
}

}  // namespace depute::internal
