// Effects: side effects of nodes, and the order in which nodes with effects must stay.
//
//   %a = aten.rand_like.default(%x)          %b gets other numbers if it runs before %a, though no value
//   %b = aten.rand_like.default(%y)          says so
//
// A node has an effect if its op is random, unknown, an assertion or writes to its arguments. A call of a
// delegate has one if the delegate contains such a node or keeps state. A control-flow node has the effects
// of its bodies. Calls of one delegate with state depend on each other; so do all other nodes with effects.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/program/program.h"
#include "ir/delegate_state.h"

namespace depute {

// Finds the effects of the nodes of a program.
class Effects {
 public:
  explicit Effects(const Program& program);

  const StatefulDelegates& stateful() const { return stateful_; }
  bool has_effects(const Node& node) const { return !of(node).empty(); }
  // Returns the names of the node's effects: delegates with state, and the empty name for all other effects.
  std::vector<Name> of(const Node& node) const;

 private:
  bool acts(const Node& node) const;
  bool acts_with_bodies(const Node& node) const;

  StatefulDelegates stateful_;
  std::unordered_set<Name> acting_;  // delegates that contain nodes with effects other than state
};

// For each node of a graph with effects: the last earlier node of each of these effects.
class EffectOrder {
 public:
  EffectOrder() = default;
  EffectOrder(const Effects& effects, const Graph& graph);

  std::span<const Node* const> before(const Node& node) const;

 private:
  std::unordered_map<const Node*, std::vector<const Node*>> before_;
};

}  // namespace depute
