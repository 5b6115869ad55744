// Concatenates tensors along an existing dimension (cat) or a new one (stack).
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

Check check_cat(const NodeQuery& node) {
  for (const Value* tensor : node.call.values("tensors")) {
    if (tensor->tensor().rank() != node.result().rank()) {
      return Refusal{"rank", sizes_text(tensor->tensor().sizes), "the same for all"};
    }
  }
  return {};
}

ValueId join(Emitter& emit, std::span<const ValueId> parts, std::size_t dim, const Dims& result) {
  if (parts.size() == 1) return parts[0];
  return emit.add_sized(NodeKind::Concat, parts, result, Axis{static_cast<std::uint32_t>(dim)});
}

void cat(Emitter& emit, const OpCall& call) {
  std::vector<ValueId> parts;
  for (const Value* tensor : call.values("tensors")) parts.push_back(emit.input(*tensor));
  const Dims& result = emit.result_sizes();
  emit.result(join(emit, parts, dimension(call, "dim", result.size()), result));
}

void stack(Emitter& emit, const OpCall& call) {
  const Dims& result = emit.result_sizes();
  const std::size_t dim = dimension(call, "dim", result.size());
  Dims part = result;
  part[dim] = 1;
  std::vector<ValueId> parts;
  for (const Value* tensor : call.values("tensors")) parts.push_back(emit.reshape(emit.input(*tensor), part));
  emit.result(join(emit, parts, dim, result));
}

}  // namespace

std::span<const OpRule> cat() {
  static constexpr Limit joined[] = {limit::ranks("result", 1, 6)};
  static constexpr Limit stacked[] = {limit::one_open_size("result")};
  static constexpr OpRule rules[] = {
      {.op = "aten.cat.default",
       .conditions = "all of the same rank",
       .forms = {joined},
       .op_class = OpClass::Move,
       .check = check_cat,
       .translate = cat},
      {.op = "aten.stack.default", .forms = {stacked}, .op_class = OpClass::Move, .translate = stack},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
