// Effects: what a node does beside giving its results, and the order in which nodes with effects must stay.
//
//   %a = aten.rand_like.default(%x)          %b gets other numbers if it runs before %a, though no value
//   %b = aten.rand_like.default(%y)          says so
//
// A node has an effect if its op takes random numbers, is unknown, asserts or writes to its arguments, or if
// it calls a delegate in which such a node lies or which keeps state. A control-flow node has the effects of
// its bodies. Calls of one delegate that keeps state depend on each other; so do all other nodes with
// effects.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program.h"
#include "ir/delegate_state.h"

namespace depute {

// The effects of the nodes of one program.
class Effects {
 public:
  explicit Effects(const Program& program);

  const StatefulDelegates& stateful() const { return stateful_; }
  bool has_effects(const Node& node) const { return !of(node).empty(); }
  // Names what the node's effects are on: delegates that keep state; the empty name stands for all else.
  std::vector<Symbol> of(const Node& node) const;

 private:
  bool acts(const Node& node) const;
  bool acts_with_bodies(const Node& node) const;

  StatefulDelegates stateful_;
  std::unordered_set<Symbol> acting_;  // delegates in which nodes lie that have effects other than state
};

// In one graph: for a node with effects, the last nodes before it that have the same ones.
class EffectOrder {
 public:
  EffectOrder() = default;
  EffectOrder(const Effects& effects, const Graph& graph);

  std::span<const Node* const> before(const Node& node) const;

 private:
  std::unordered_map<const Node*, std::vector<const Node*>> before_;
};

}  // namespace depute
