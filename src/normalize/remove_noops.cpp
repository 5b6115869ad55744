// Bypasses nodes that change nothing or that revert the views before them: their users read the argument.
//
//   %d = aten.expand.default(%x, [2, 3])     with %x: f32[2, 3]     uses of %d become uses of %x
//
//   %p = aten.permute.default(%x, [0, 2, 1])
//   %q = aten.permute.default(%p, [0, 2, 1])                        uses of %q become uses of %x
//
// OpDef::identity is called only if the result has its argument's type. Pairs of inverse permutes matter in
// attention with caches: each pair would copy a whole cache for each token.
#include <algorithm>

#include "depute/program/op.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "ops/tensors/view_rules.h"

namespace depute {
namespace {

using internal::permutation;

// Maximum number of views before a node that are searched.
constexpr int max_views = 8;

bool is_noop(const Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || def->identity == nullptr || node.results().size() != 1) return false;
  OpCall call(node);
  if (call.args().empty() || !call[0].is_value()) return false;
  return call[0].as_value()->type() == node.result()->type() && def->identity(call);
}

// Returns the node's argument if the node is a view of this kind.
const Value* viewed(const Node* node, ViewKind kind) {
  const OpDef* def = node == nullptr ? nullptr : node->def();
  if (def == nullptr || def->view_kind != kind || node->results().size() != 1) return nullptr;
  const OpCall call(*node);
  return call.args().empty() || !call[0].is_value() ? nullptr : call[0].as_value();
}

const Value* before_reshapes(const Node& node) {
  const Value* value = viewed(&node, ViewKind::Reshape);
  for (int i = 0; i < max_views && value != nullptr; ++i) {
    value = viewed(value->producer(), ViewKind::Reshape);
    if (value != nullptr && value->type() == node.result()->type()) return value;
  }
  return nullptr;
}

const Value* before_permutes(const Node& node) {
  const Value* value = viewed(&node, ViewKind::Permute);
  if (value == nullptr) return nullptr;
  auto order = permutation(OpCall(node));
  for (int i = 0; i < max_views && order; ++i) {
    const Node* inner = value->producer();
    value = viewed(inner, ViewKind::Permute);
    if (value == nullptr) return nullptr;
    auto before = permutation(OpCall(*inner));
    if (!before) return nullptr;
    for (std::size_t& axis : *order) axis = (*before)[axis];
    if (std::ranges::is_sorted(*order)) return value;
  }
  return nullptr;
}

// Returns the value that the node's result equals, or null.
const Value* same_as(const Node& node) {
  if (is_noop(node)) return OpCall(node)[0].as_value();
  const Value* value = before_reshapes(node);
  return value != nullptr ? value : before_permutes(node);
}

}  // namespace

// Afterwards no node returns its first argument unchanged, or the source of the views before it.
Status remove_noops(Program& program, const NormalizeOptions&) {
  return for_each_graph(program, [](Method&, Graph& graph) -> Status {
    for (Node& node : graph.nodes()) {
      const Value* same = same_as(node);
      if (same == nullptr) continue;
      graph.replace_uses(*node.result(), graph.own(*same));
      graph.erase(node);
    }
    return {};
  });
}

}  // namespace depute
