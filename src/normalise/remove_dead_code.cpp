// Erases pure nodes that nobody uses, from the end, so that what they alone needed goes with them.
#include "normalise/each_graph.h"
#include "normalise/passes.h"
#include "ops/op_def.h"

namespace depute {
namespace {

bool is_dead(const Node& node) {
  const OpDef* def = op_def(node);
  if (def == nullptr || !def->is_pure()) return false;
  for (const Value* result : node.results()) {
    if (result->has_uses()) return false;
  }
  return true;
}

}  // namespace

Status remove_dead_code(Program& program, const NormaliseOptions&) {
  return for_each_graph(program, [](Method&, Graph& graph) -> Status {
    for (Node* node = graph.last(); node != nullptr;) {
      Node* previous = node->previous();
      if (is_dead(*node)) graph.erase(*node);
      node = previous;
    }
    return {};
  });
}

}  // namespace depute
