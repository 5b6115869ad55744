// Removes assertions, and renames ops that have a second name.
//
//   %_ = aten._assert_tensor_metadata.default(%x, ...)        gone
//   %v = aten.view_copy.default(%x, [6])                 ->   %v = aten.view.default(%x, [6])
//
// Torch checked the assertions when it traced the program, and the runtime has no kernels for them. Copy
// variants of views come from programs in the Edge dialect; in a functional program a view equals its copy.
#include "depute/program/op.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"

namespace depute {
namespace {

// True for a second name of an op, and for the copy variant of a view.
bool has_one_name(const Graph& graph, const OpDef& def) {
  if (def.functional.empty() || def.mutates()) return false;
  const OpDef& functional = *graph.ops().find(def.functional);
  return def.is(OpFlag::Symbolic) || functional.is(OpFlag::View) || functional.is(OpFlag::MayView);
}

Status drop_from(Graph& graph) {
  for (Node& node : graph.nodes()) {
    const OpDef* def = node.def();
    if (def == nullptr) continue;
    if (def->is(OpFlag::Assertion)) {
      for (const Value* result : node.results()) {
        if (result->has_uses()) return node_error(node, "the result of an assertion is used");
      }
      graph.erase(node);
    } else if (has_one_name(graph, *def)) {
      graph.set_op(node, def->functional);
    }
  }
  return {};
}

}  // namespace

// Afterwards no node is an assertion, and copy variants of views (aten.view_copy) are views (aten.view).
Status drop_assertions(Program& program, const NormalizeOptions&) {
  return for_each_graph(program, [](Method&, Graph& graph) { return drop_from(graph); });
}

}  // namespace depute
