// Lets users of a node that changes nothing use its argument.
//
//   %d = aten.expand.default(%x, [2, 3])     with %x: f32[2, 3]     uses of %d become uses of %x
//
// An op is asked (OpDef::identity) only when its result has its argument's type.
#include "depute/op.h"
#include "normalise/pass_error.h"
#include "normalise/passes.h"

namespace depute {
namespace {

bool is_noop(const Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || def->identity == nullptr || node.results().size() != 1) return false;
  OpCall call(node);
  if (call.args().empty() || !call[0].is_value()) return false;
  return call[0].as_value()->type() == node.result()->type() && def->identity(call);
}

}  // namespace

// Afterwards no node returns its first argument unchanged.
Status remove_noops(Program& program, const NormaliseOptions&) {
  return for_each_graph(program, [](Method&, Graph& graph) -> Status {
    for (Node& node : graph.nodes()) {
      if (!is_noop(node)) continue;
      graph.replace_uses(*node.result(), graph.own(*OpCall(node)[0].as_value()));
      graph.erase(node);
    }
    return {};
  });
}

}  // namespace depute
