// Lets a call that repeats an earlier one use its results (common subexpression elimination): masks,
// positions and shapes that a model computes anew in each layer are computed once.
//
//   %a: f32[1, 8] = aten.where.self(%mask, %zero, %low)
//   %b: f32[1, 8] = aten.where.self(%mask, %zero, %low)      uses of %b become uses of %a
//
// What quantises stays with what it quantises: backends and kernels look for it there.
#include <algorithm>
#include <unordered_set>

#include "depute/op.h"
#include "ir/same_call.h"
#include "ir/walk.h"
#include "normalise/passes.h"

namespace depute {
namespace {

bool may_merge(const Node& node) {
  const OpDef* def = node.def();
  return def != nullptr && def->is_pure() && !def->is(OpFlag::quantisation);
}

// Types count: each call with a result of unknown size gives a size of its own.
bool repeats(const Node& a, const Node& b) {
  return same_call(a, b) && std::ranges::equal(a.results(), b.results(), [](const Value* x, const Value* y) {
           return x->type() == y->type();
         });
}

struct Call {
  Node* node;
  Hash128 hash;
};
struct HashOfCall {
  std::size_t operator()(const Call& call) const { return call.hash.low; }
};
struct Repeats {
  bool operator()(const Call& a, const Call& b) const {
    return a.hash == b.hash && repeats(*a.node, *b.node);
  }
};

void merge(Graph& graph) {
  std::unordered_set<Call, HashOfCall, Repeats> calls;
  for (Node& node : graph.nodes()) {
    if (!may_merge(node)) continue;
    auto [first, is_new] = calls.insert({&node, call_hash(node)});
    if (is_new) continue;
    for (std::size_t i = 0; i < node.results().size(); ++i)
      graph.replace_uses(*node.result(i), first->node->result(i));
    graph.erase(node);
  }
}

}  // namespace

// Afterwards no two pure calls of a graph have the same op, arguments and types, but for those that quantise.
Status merge_repeated_calls(Program& program, const NormaliseOptions&) {
  return for_each_graph(program, [](Method&, Graph& graph) -> Status {
    merge(graph);
    return {};
  });
}

}  // namespace depute
