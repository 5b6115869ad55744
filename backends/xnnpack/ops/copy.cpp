// Copies, which need no node, and conversions between f32 and f16.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

void copy(Emitter& emit, const OpCall& call) {
  emit.result(emit.input(call, "self"));
}

void convert(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const ScalarType dtype = call.node()->result()->tensor().dtype;
  emit.result(dtype == emit.dtype(x) ? x : emit.convert(x, dtype));
}

constexpr OpRule relabel(std::string_view op) {
  return {.op = op, .op_class = OpClass::Relabel, .translate = copy};
}

constexpr OpRule rules[] = {
    {.op = "aten._to_copy.default",
     .conditions = "from and to f32 and f16",
     .op_class = OpClass::Move,
     .mixes_dtypes = true,
     .translate = convert},
    relabel("aten.alias.default"),
    relabel("aten.clone.default"),
    relabel("aten.detach.default"),
    relabel("aten.lift_fresh_copy.default"),
};

}  // namespace

std::span<const OpRule> copy() {
  return rules;
}

}  // namespace depute::xnnpack::ops
