#include "ops/effects.h"

#include <algorithm>

#include "depute/program/op.h"
#include "depute/program/walk.h"

namespace depute {

Effects::Effects(const Program& program) : stateful_(program) {
  for (const auto& delegate : program.delegates) {
    if (delegate->original == nullptr) {
      acting_.insert(delegate->name);
      continue;
    }
    const Program& original = *delegate->original;
    const Effects inner(original);
    const auto acts = [&](const Node& node) { return inner.acts(node); };
    const bool has_acting = std::ranges::any_of(original.methods, [&](const auto& method) {
      return std::ranges::any_of(
          graphs_of(*method), [&](const Graph* graph) { return std::ranges::any_of(graph->nodes(), acts); });
    });
    if (has_acting) acting_.insert(delegate->name);
  }
}

// True if the node itself, without its bodies, has effects other than state.
bool Effects::acts(const Node& node) const {
  if (const Name delegate = called_delegate(node); !delegate.empty()) return acting_.contains(delegate);
  const OpDef* def = node.def();
  if (def == nullptr) return true;
  if (def->origin == OpOrigin::Compiler) return def->is(OpFlag::Random);
  return !def->is_pure() && !def->is(OpFlag::ControlFlow);
}

bool Effects::acts_with_bodies(const Node& node) const {
  if (acts(node)) return true;
  if (!has_bodies(node)) return false;
  return std::ranges::any_of(graphs_below(node), [&](const Graph* graph) {
    return std::ranges::any_of(graph->nodes(), [&](const Node& inner) { return acts(inner); });
  });
}

std::vector<Name> Effects::of(const Node& node) const {
  if (const OpDef* def = node.def(); def != nullptr && def->is_pure()) return {};
  std::vector<Name> effects = stateful_.called_by(node);
  if (acts_with_bodies(node)) effects.emplace_back();
  return effects;
}

EffectOrder::EffectOrder(const Effects& effects, const Graph& graph) {
  std::unordered_map<Name, const Node*> last;
  for (const Node& node : graph.nodes()) {
    for (const Name effect : effects.of(node)) {
      const Node*& earlier = last[effect];
      if (earlier != nullptr) before_[&node].push_back(earlier);
      earlier = &node;
    }
  }
}

std::span<const Node* const> EffectOrder::before(const Node& node) const {
  if (before_.empty()) return {};
  const auto found = before_.find(&node);
  if (found == before_.end()) return {};
  return found->second;
}

}  // namespace depute
