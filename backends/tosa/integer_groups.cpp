// A dequantize node with several readers belongs to the groups of all of them, unless a path between two of them leaves
// the delegate: then the later one is computed with floats.
#include "integer_groups.h"

#include <algorithm>
#include <unordered_set>

#include "depute/backend/partitioners.h"
#include "depute/program/walk.h"
#include "op_rule.h"

namespace depute::tosa {
namespace {

using Nodes = std::vector<const Node*>;

class Grouper {
 public:
  Grouper(const Graph& graph, const Program& program, const Method& method, const Device& device,
          const IntegerFacts& facts, Answers& answers)
      : graph_(graph), answers_(answers) {
    for (const Node& node : graph.nodes()) {
      if (is_taken(node)) partners_[&node] = integer_partners(node, program, method, device, facts);
    }
  }

  // Refuses nodes until each float value inside of delegates has integers for all of its readers.
  void refuse_floats() {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (const Node& node : graph_.nodes()) {
        if (!is_taken(node)) continue;
        const Node* other = find_obstacle(node);
        if (other == nullptr) continue;
        answers_[&node] = refuse("profile", "floats for " + std::string(other->display_name()),
                                 "operators of the profile INT");
        separated_.clear();
        is_changed = true;
      }
    }
  }

  std::vector<Nodes> groups() {
    std::vector<Nodes> sets;
    for (const Node& node : graph_.nodes()) {
      if (!is_taken(node)) continue;
      Nodes set = {&node};
      for (const Node* partner : partners_[&node]) {
        if (is_taken(*partner) && !is_separated(node, *partner)) set.push_back(partner);
      }
      if (set.size() > 1) sets.push_back(std::move(set));
    }
    return united(graph_, sets);
  }

 private:
  bool is_taken(const Node& node) const {
    const auto found = answers_.find(&node);
    return found != answers_.end() && found->second.support != Support::Unsupported;
  }

  bool is_partner(const Node& node, const Node& other) {
    return std::ranges::find(partners_[&node], &other) != partners_[&node].end();
  }

  // A neighbor that would give floats to the node, or take them from it.
  const Node* find_obstacle(const Node& node) {
    for (const Node* partner : partners_[&node]) {
      if (!is_taken(*partner) || is_separated(node, *partner)) return partner;
    }
    for (const Value* result : node.results()) {
      if (!result->type().is_tensor() || result->tensor().dtype != ScalarType::F32) continue;
      for (const Use& use : result->uses()) {
        if (!is_taken(*use.user()) || !is_partner(*use.user(), node)) return use.user();
      }
    }
    return nullptr;
  }

  // True if a path from the partner to the node leaves the delegate.
  bool is_separated(const Node& node, const Node& partner) {
    if (only_user(partner) != nullptr) return false;
    const auto [entry, is_new] = separated_.try_emplace(&partner);
    if (is_new) entry->second = find_separated(partner);
    return entry->second.contains(&node);
  }

  std::unordered_set<const Node*> find_separated(const Node& first) const {
    std::unordered_set<const Node*> reached = {&first};
    std::unordered_set<const Node*> separated;
    for (const Node* node = first.next(); node != nullptr; node = node->next()) {
      for (std::size_t i = 0; i < node->operand_count(); ++i) {
        const Node* producer = node->operand(i)->producer();
        if (producer == nullptr || !reached.contains(producer)) continue;
        reached.insert(node);
        if (separated.contains(producer) || !is_taken(*producer)) separated.insert(node);
      }
    }
    return separated;
  }

  const Graph& graph_;
  Answers& answers_;
  std::unordered_map<const Node*, Nodes> partners_;
  std::unordered_map<const Node*, std::unordered_set<const Node*>> separated_;
};

}  // namespace

std::vector<std::vector<const Node*>> group_integers(const Program& program, const Method& method,
                                                     const Device& device, const IntegerFacts& facts,
                                                     Answers& answers) {
  std::vector<std::vector<const Node*>> all;
  for (const Graph* graph : graphs_of(method)) {
    Grouper grouper(*graph, program, method, device, facts, answers);
    if (device.profile == Profile::Integers) grouper.refuse_floats();
    for (auto& group : grouper.groups()) all.push_back(std::move(group));
  }
  return all;
}

}  // namespace depute::tosa
