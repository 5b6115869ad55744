// Rewrites calls into forms that the runtime's kernels support and compute correctly.
//
//   %y = aten.gather.default(%x, 0, %i: i32[4])    ->    %c: i64[4] = aten._to_copy.default(%i, dtype=.i64)
//                                                        %y = aten.gather.default(%x, 0, %c)
//
// The row of an op states what its kernel supports (ops/kernel_rules.h). Only undelegated nodes are
// rewritten: backends have rules of their own.
#include "depute/program/walk.h"
#include "normalize/apply_rules.h"
#include "normalize/passes.h"
#include "ops/kernel_rules.h"

namespace depute {

// Afterwards every node for which a supported form exists is in that form.
Status fit_kernels(Program& program, const NormalizeOptions&) {
  return for_each_graph(program, [&](Method& method, Graph& graph) {
    const std::uint32_t first_made_here = graph.node_ids();
    return apply_rules(method, graph, program.ranges,
                       [first_made_here](const Node& node) -> DecomposeFunction {
                         const OpDef* def = node.def();
                         if (def == nullptr || def->origin != OpOrigin::Torch) return nullptr;
                         return node.id() < first_made_here ? fit_kernel : fit_types;
                       });
  });
}

}  // namespace depute
