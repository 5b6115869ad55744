#include <algorithm>

#include "depute/backend/partitioners.h"

#include "regions/disjoint_sets.h"

namespace depute {

void add_producers(const Node& node, std::string_view op, std::vector<const Node*>& nodes) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Node* producer = node.operand(i)->producer();
    if (producer == nullptr || producer->op() != op) continue;
    if (std::ranges::find(nodes, producer) == nodes.end()) nodes.push_back(producer);
  }
}

const Node* only_user(const Node& node) {
  const Node* user = nullptr;
  for (const Value* result : node.results()) {
    for (const Use& use : result->uses()) {
      if (use.user()->is_return() || (user != nullptr && user != use.user())) return nullptr;
      user = use.user();
    }
  }
  return user;
}

void add_only_user(const Node& node, std::string_view op, std::vector<const Node*>& nodes) {
  const Node* user = only_user(node);
  if (user == nullptr || user->op() != op) return;
  if (std::ranges::find(nodes, user) == nodes.end()) nodes.push_back(user);
}

NodeGroups united(const Graph& graph, const NodeGroups& sets) {
  DisjointSets joined(graph.node_ids());
  for (const auto& set : sets) {
    for (const Node* node : set) joined.join(set.front()->id(), node->id());
  }
  NodeGroups result;
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> place(graph.node_ids(), none);  // by the representative of the set
  std::vector<std::uint8_t> is_added(graph.node_ids(), 0);
  for (const auto& set : sets) {
    std::size_t& at = place[joined.find(set.front()->id())];
    if (at == none) {
      at = result.size();
      result.emplace_back();
    }
    for (const Node* node : set) {
      if (is_added[node->id()]++ == 0) result[at].push_back(node);
    }
  }
  return result;
}

}  // namespace depute
