#include "partition/neighbours.h"

#include <algorithm>

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

}  // namespace depute
