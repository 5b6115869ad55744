// Decomposes ops until only core ops and those that a backend keeps remain.
//
//   %y = aten.silu.default(%x)       ->       %s = aten.sigmoid.default(%x)
//                                             %y = aten.mul.Tensor(%x, %s)
//
// The op table holds the rules. Nodes that a rule builds are inserted before the node and visited in turn.
#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "normalize/apply_rules.h"
#include "normalize/kept_ops.h"
#include "normalize/passes.h"

namespace depute {
// Afterwards no node has a decomposition, except nodes kept by options.ops_to_not_decompose.
Status decompose(Program& program, const NormalizeOptions& options) {
  KeptOps kept(options.ops_to_not_decompose);
  auto rule_of = [&](const Node& node) -> DecomposeFunction {
    const OpDef* def = node.def();
    const bool stays = def == nullptr || def->origin == OpOrigin::Backend || kept.keeps(node);
    return stays ? nullptr : def->decompose;
  };
  return for_each_graph(program, [&](Method& method, Graph& graph) {
    return apply_rules(method, graph, program.ranges, rule_of);
  });
}

}  // namespace depute
