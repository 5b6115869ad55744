// softmax over any dimension. XNNPACK needs the innermost one, so the layout is chosen accordingly.
// log_softmax subtracts the maximum first, so that nothing overflows or underflows.
#include "emitter.h"
#include "node_query.h"
#include "reductions.h"

namespace depute::xnnpack::ops {
namespace {

Check check_softmax(const NodeQuery& node) {
  if (node.call["half_to_float"].as_bool()) return refuse_argument(node, "half_to_float", "false");
  const TensorType& self = node.tensor("self");
  return need_elements(node, {self.sizes[dimension(node.call, "dim", self.rank())]});
}

void translate_softmax(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const Axis axis{static_cast<std::uint32_t>(dimension(call, "dim", emit.rank(x)))};
  emit.result(emit.add_sized(NodeKind::Softmax, {x}, emit.sizes(x), axis));
}

Check check_log_softmax(const NodeQuery& node) {
  const TensorType& self = node.tensor("self");
  DEPUTE_REFUSE_IF(check_softmax(node));
  const SymInt& size = self.sizes[dimension(node.call, "dim", self.rank())];
  if (!size.is_constant()) return Refusal{"dynamic-shape", sizes_text(self.sizes), "a constant size of dim"};
  if (size == 1) return refuse_argument(node, "dim", "more than one element");
  return {};
}

// (x - max) - log(sum(exp(x - max)))
void translate_log_softmax(Emitter& emit, const OpCall& call) {
  using enum NodeKind;
  const ValueId x = emit.input(call, "self");
  const auto dim = static_cast<std::uint32_t>(dimension(call, "dim", emit.rank(x)));
  const ValueId shifted = emit.add(Subtract, {x, reduce_max(emit, x, dim, dim)});
  const ValueId sum = reduce_sum(emit, emit.add(Exp, {shifted}), {dim});
  emit.result(emit.add(Subtract, {shifted, emit.add(Log, {sum})}));
}

}  // namespace

std::span<const OpRule> softmax() {
  static constexpr Limit log_softmax[] = {limit::ranks("self", 1, 6), limit::dtype("self", ScalarType::F32),
                                          limit::one_open_size("self")};
  static constexpr Limit softmax[] = {limit::ranks("self", 1, 6)};
  static constexpr OpRule rules[] = {
      {.op = "aten._log_softmax.default",
       .conditions = "more than one element along dim, of constant number",
       .forms = {log_softmax},
       .check = check_log_softmax,
       .translate = translate_log_softmax},
      {.op = "aten._softmax.default",
       .forms = {softmax},
       .check = check_softmax,
       .translate = translate_softmax},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
