// Lets a call that repeats an earlier one use its results (common subexpression elimination): masks,
// positions and shapes that a model computes anew in each layer are computed once.
//
//   %a: f32[1, 8] = aten.where.self(%mask, %zero, %low)
//   %b: f32[1, 8] = aten.where.self(%mask, %zero, %low)      uses of %b become uses of %a
//
// What quantises stays with what it quantises: backends and kernels look for it there.
#include <algorithm>
#include <bit>
#include <vector>

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

// The calls seen so far, by hash. One flat table: of 100,000 calls each costs a miss of the cache, not four.
class SeenCalls {
 public:
  explicit SeenCalls(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

  // An earlier call that `node` repeats; null, and from then on `node` itself, when there is none.
  Node* find_or_add(Node& node) {
    const Hash128 hash = call_hash(node);
    std::size_t i = hash.low & (slots_.size() - 1);
    for (; slots_[i].node != nullptr; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].hash == hash.high && repeats(*slots_[i].node, node)) return slots_[i].node;
    slots_[i] = {&node, hash.high};
    return nullptr;
  }

 private:
  struct Slot {
    Node* node = nullptr;
    std::uint64_t hash = 0;  // the half that does not say the place
  };
  std::vector<Slot> slots_;
};

void merge(Graph& graph) {
  SeenCalls seen(graph.node_count());
  for (Node& node : graph.nodes()) {
    Node* first = may_merge(node) ? seen.find_or_add(node) : nullptr;
    if (first == nullptr) continue;
    for (std::size_t i = 0; i < node.results().size(); ++i)
      graph.replace_uses(*node.result(i), first->result(i));
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
