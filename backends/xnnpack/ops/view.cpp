// Reshapes: the result's type gives the new sizes. At most one size may be dynamic.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

Check check_view(const NodeQuery& node) {
  if (node.tensor("self").sizes == node.result().sizes) return {};
  return need_reshapable(node.result());
}

void translate_view(Emitter& emit, const OpCall& call) {
  emit.result(emit.reshape(emit.input(call, "self"), emit.result_sizes()));
}

constexpr OpRule relabel(std::string_view op) {
  return {.op = op,
          .conditions = "at most one size known only at run time",
          .op_class = OpClass::Relabel,
          .check = check_view,
          .translate = translate_view};
}

}  // namespace

std::span<const OpRule> view() {
  static constexpr OpRule rules[] = {
      relabel("aten._unsafe_view.default"), relabel("aten.flatten.using_ints"),
      relabel("aten.reshape.default"),      relabel("aten.squeeze.default"),
      relabel("aten.squeeze.dim"),          relabel("aten.squeeze.dims"),
      relabel("aten.unflatten.int"),        relabel("aten.unsqueeze.default"),
      relabel("aten.view.default"),
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
