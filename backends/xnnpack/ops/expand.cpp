// Broadcasting to a larger shape. It disappears where the readers broadcast by themselves (drop_expands.h).
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// Repeated dimensions must be known: they are those of a constant.
Check check_expand(const NodeQuery& node) {
  const Dims& from = node.tensor("self").sizes;
  const Dims& to = node.result().sizes;
  const std::size_t missing = to.size() - from.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool is_repeated = i < missing || !(from[i - missing] == to[i]);
    if (is_repeated && !to[i].is_constant()) {
      return Refusal{"dynamic-shape", sizes_text(to), "constant sizes where elements are repeated"};
    }
  }
  return {};
}

void translate_expand(Emitter& emit, const OpCall& call) {
  emit.result(emit.expand(emit.input(call, "self"), emit.result_sizes()));
}

constexpr OpRule rules[] = {
    {.op = "aten.expand.default",
     .conditions = "constant sizes where elements are repeated",
     .op_class = OpClass::Move,
     .check = check_expand,
     .translate = translate_expand},
};

}  // namespace

std::span<const OpRule> expand() {
  return rules;
}

}  // namespace depute::xnnpack::ops
