#include "depute/backend/group_partitioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "depute/backend/propose_partitions.h"
#include "ir/walk.h"
#include "partition/node_names.h"
#include "support/try.h"

namespace depute {
namespace {

using Names = std::vector<std::string>;

// Maps names to nodes, one entry for each graph of the method.
std::vector<NodeNames> names_of(const Method& method) {
  std::vector<NodeNames> graphs;
  for (const Graph* graph : graphs_of(method)) graphs.emplace_back(*graph);
  return graphs;
}

// Returns the named nodes. Empty if the graph lacks one of them.
std::vector<const Node*> find_all(const NodeNames& graph, const Names& names) {
  std::vector<const Node*> nodes;
  for (const std::string& name : names) {
    const Node* node = graph.find(name);
    if (node == nullptr) return {};
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  return nodes;
}

std::vector<const Node*> find_group(const std::vector<NodeNames>& graphs, const Names& names) {
  for (const NodeNames& graph : graphs) {
    if (std::vector<const Node*> nodes = find_all(graph, names); !nodes.empty()) return nodes;
  }
  return {};
}

// The error for a group that no method contains.
Failure not_found(const Program& program, const Names& names) {
  std::vector<NodeNames> graphs;
  for (const auto& method : program.methods) std::ranges::move(names_of(*method), std::back_inserter(graphs));
  for (const std::string& name : names) {
    const bool known =
        std::ranges::any_of(graphs, [&](const NodeNames& graph) { return graph.find(name) != nullptr; });
    if (!known)
      return failure("partition", name, "there is no node of this name", "`depute explain` lists the nodes");
  }
  return failure("partition", fmt::format("{}", fmt::join(names, ", ")), "these nodes are not in one graph",
                 "a group is made of nodes of one graph");
}

}  // namespace

GroupFunction groups_by_name(std::vector<std::vector<std::string>> names) {
  return [names = std::move(names)](const Program& program, const Method& method) -> Result<NodeGroups> {
    const std::vector<NodeNames> graphs = names_of(method);
    NodeGroups groups;
    for (const Names& group : names) {
      if (group.empty()) continue;
      std::vector<const Node*> nodes = find_group(graphs, group);
      if (!nodes.empty()) {
        groups.push_back(std::move(nodes));
        continue;
      }
      const bool elsewhere = std::ranges::any_of(program.methods, [&](const auto& other) {
        return other.get() != &method && !find_group(names_of(*other), group).empty();
      });
      if (!elsewhere) return not_found(program, group);
    }
    return groups;
  };
}

Result<Proposal> GroupPartitioner::propose(const Program& program, const Method& method) const {
  Proposal proposal{.support = {}, .options = options_};
  TRY(proposal.options.groups, groups_(program, method));
  TRY_STATUS(check_groups(method, proposal.options.groups));
  std::unordered_map<const Node*, std::size_t> group_of;
  for (std::size_t group = 0; group < proposal.options.groups.size(); ++group) {
    for (const Node* node : proposal.options.groups[group]) {
      const auto [other, is_new] = group_of.emplace(node, group);
      if (is_new || other->second == group) continue;
      return failure("partition", place_of(*node),
                     fmt::format("is in two groups, with %{} and with %{}",
                                 proposal.options.groups[other->second].front()->display_name(),
                                 proposal.options.groups[group].front()->display_name()),
                     "groups must not overlap");
    }
  }
  proposal.support = support_ ? support_ : [](const Node& node) {
    return refuse("no-group", node.op().str(), "nodes of a group");
  };
  return proposal;
}

}  // namespace depute
