// Converts core ops to the forms of ExecuTorch's Edge dialect if options.edge_forms is set. It is the last
// pass, since earlier passes use other forms.
//
//   %y = aten.linear.default(%x, %w, %b)     ->     %t = aten.permute.default(%w, [1, 0])
//                                                   %y = aten.addmm.default(%b, %x, %t)
//
// Ops that a partitioner keeps whole stay.
#include "depute/program/walk.h"
#include "normalize/apply_rules.h"
#include "normalize/kept_ops.h"
#include "normalize/passes.h"
#include "ops/edge_forms.h"

namespace depute {

Status write_edge_forms(Program& program, const NormalizeOptions& options) {
  if (!options.edge_forms) return {};
  KeptOps kept(options.ops_to_not_decompose);
  auto rule_of = [&](const Node& node) { return kept.keeps(node) ? nullptr : edge_form(node.op()); };
  return for_each_graph(program, [&](Method& method, Graph& graph) {
    return apply_rules(method, graph, program.ranges, rule_of);
  });
}

}  // namespace depute
