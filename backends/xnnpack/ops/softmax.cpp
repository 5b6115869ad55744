// softmax over any dimension: XNNPACK takes the one that lies innermost, and the layout is chosen so.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

Check check_softmax(const NodeQuery& node) {
  if (node.call["half_to_float"].as_bool()) return refuse_argument(node, "half_to_float", "false");
  return need_rank(node.tensor("self"), 1, 6);
}

void translate_softmax(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const Axis axis{static_cast<std::uint32_t>(dimension(call, "dim", emit.rank(x)))};
  emit.result(emit.add_sized(NodeKind::Softmax, {x}, emit.sizes(x), axis));
}

constexpr OpRule rules[] = {
    {.op = "aten._softmax.default", .check = check_softmax, .translate = translate_softmax},
};

}  // namespace

std::span<const OpRule> softmax() {
  return rules;
}

}  // namespace depute::xnnpack::ops
