#include "depute/backend/partitioners.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/walk.h"
#include "partition/check_groups.h"
#include "partition/node_names.h"
#include "support/try.h"

namespace depute {

// --- capabilities

namespace {

constexpr std::size_t max_named_ops = 8;  // maximum number of ops listed in a verdict

std::string names_of(const std::vector<OpSupport>& rules) {
  std::string text;
  for (std::size_t i = 0; i < rules.size() && i < max_named_ops; ++i)
    text += (i == 0 ? "" : ", ") + rules[i].op;
  if (rules.size() > max_named_ops) text += fmt::format(" and {} more", rules.size() - max_named_ops);
  return text;
}

}  // namespace

SupportFunction support_by_op(std::vector<OpSupport> rules) {
  std::unordered_map<Name, SupportFunction> checks;
  std::string allowed = names_of(rules);
  for (OpSupport& rule : rules) checks.try_emplace(Name(rule.op), std::move(rule.check));
  return [checks = std::make_shared<const decltype(checks)>(std::move(checks)),
          allowed = std::move(allowed)](const Node& node) {
    auto found = checks->find(node.op());
    if (found == checks->end()) return refuse("op", node.op().str(), allowed);
    return found->second ? found->second(node) : take();
  };
}

// --- the whole program

WholeProgramPartitioner::WholeProgramPartitioner(std::string owner, DelegationSpec spec)
    : ProposalPartitioner(Proposal{.support = [](const Node&) { return take(); },
                                   .options = {.owner = std::move(owner),
                                               .spec = std::move(spec),
                                               .moved_data = MovedData::Everything,
                                               .take_delegates = true}}) {}

// --- groups

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
      return failure("partition", name, "no node has this name", "`depute explain` lists the nodes");
  }
  return failure("partition", fmt::format("{}", fmt::join(names, ", ")),
                 "these nodes are in different graphs", "all nodes of a group must be in the same graph");
}

Status check_disjoint(const NodeGroups& groups) {
  std::unordered_map<const Node*, std::size_t> group_of;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const Node* node : groups[group]) {
      const auto [other, is_new] = group_of.emplace(node, group);
      if (is_new || other->second == group) continue;
      return failure(
          "partition", place_of(*node),
          fmt::format("is in two groups: with %{} and with %{}",
                      groups[other->second].front()->display_name(), groups[group].front()->display_name()),
          "groups must not overlap");
    }
  }
  return {};
}

NodeSupport refuse_ungrouped(const Node& node) {
  return refuse("no-group", node.op().str(), "nodes of a group");
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

GroupPartitioner::GroupPartitioner(GroupFunction groups, ProposeOptions options, SupportFunction support)
    : ProposalPartitioner(
          [groups = std::move(groups),
           base = Proposal{support ? std::move(support) : refuse_ungrouped, std::move(options)}](
              const Program& program, const Method& method) -> Result<Proposal> {
            Proposal proposal = base;
            TRY(proposal.options.groups, groups(program, method));
            TRY_STATUS(check_groups(method, proposal.options.groups));
            TRY_STATUS(check_disjoint(proposal.options.groups));
            return proposal;
          }) {}

// --- patterns

namespace {

SupportFunction refuse_unmatched(const std::vector<Pattern>& patterns) {
  std::vector<std::string_view> names;
  for (const Pattern& pattern : patterns) names.push_back(pattern.name().str());
  return [allowed = fmt::format("{}", fmt::join(names, ", "))](const Node& node) {
    return refuse("pattern", node.op().str(), allowed);
  };
}

}  // namespace

PatternPartitioner::PatternPartitioner(std::vector<Pattern> patterns, ProposeOptions options,
                                       AcceptMatch accept)
    : ProposalPartitioner([base = Proposal{refuse_unmatched(patterns), std::move(options)},
                           patterns = std::move(patterns),
                           accept = std::move(accept)](const Program&, const Method& method) {
        Proposal proposal = base;
        for (const Graph* graph : graphs_of(method)) {
          for (PatternMatch& match : find_matches(method, *graph, patterns)) {
            if (accept && !accept(patterns[match.pattern], match)) continue;
            proposal.options.groups.push_back(std::move(match.nodes));
          }
        }
        return proposal;
      }) {}

// --- configs

namespace {

// The configs by op. Shared, because proposals may outlive the partitioner.
struct Configs {
  std::unordered_map<Name, std::unique_ptr<OpConfig>> by_op;
  Name repeated;  // an op with two configs

  const OpConfig* find(const Node& node) const {
    const auto found = by_op.find(node.op());
    return found == by_op.end() ? nullptr : found->second.get();
  }
};
using SharedConfigs = std::shared_ptr<const Configs>;

SharedConfigs by_op(std::vector<std::unique_ptr<OpConfig>> configs) {
  auto all = std::make_shared<Configs>();
  for (std::unique_ptr<OpConfig>& config : configs) {
    const Name op(config->op());
    if (!all->by_op.emplace(op, std::move(config)).second) all->repeated = op;
  }
  return all;
}

// Groups each supported node with its neighbors, and merges groups that share a node.
NodeGroups groups_of(const Configs& configs, const Program& program, const Method& method,
                     const Graph& graph) {
  NodeGroups candidates;
  for (const Node& node : graph.nodes()) {
    const OpConfig* config = configs.find(node);
    if (config == nullptr || config->check(program, method, node).support == Support::Unsupported) continue;
    candidates.push_back({&node});
    config->add_neighbors(node, candidates.back());
    if (candidates.back().size() == 1) candidates.pop_back();
  }
  return united(graph, candidates);
}

Result<Proposal> propose_by_config(const SharedConfigs& configs, const ProposeOptions& options,
                                   const Program& program, const Method& method) {
  if (!configs->repeated.empty())
    return failure("partition", configs->repeated.str(), "two configs for this op", "merge them");
  Proposal proposal{.support = {}, .options = options};
  for (const Graph* graph : graphs_of(method))
    std::ranges::move(groups_of(*configs, program, method, *graph),
                      std::back_inserter(proposal.options.groups));
  proposal.support = [configs, &program, &method](const Node& node) {
    const OpConfig* config = configs->find(node);
    if (config == nullptr) return refuse("no-config", node.op().str(), "ops with a config");
    return config->check(program, method, node);
  };
  return proposal;
}

OpsToNotDecompose kept_by_config(const SharedConfigs& configs) {
  OpsToNotDecompose kept;
  for (const auto& [op, config] : configs->by_op) kept.ops.push_back(op);
  std::ranges::sort(kept.ops, {}, &Name::str);
  kept.filter = [configs](const Node& node) {
    const OpConfig* config = configs->find(node);
    return config != nullptr && config->keeps_whole(node);
  };
  return kept;
}

ProposalPartitioner config_partitioner(const SharedConfigs& configs, const ProposeOptions& options) {
  return ProposalPartitioner(
      [configs, options](const Program& program, const Method& method) {
        return propose_by_config(configs, options, program, method);
      },
      [configs](const Program&) { return kept_by_config(configs); });
}

}  // namespace

ConfigPartitioner::ConfigPartitioner(std::vector<std::unique_ptr<OpConfig>> configs, ProposeOptions options)
    : ProposalPartitioner(config_partitioner(by_op(std::move(configs)), options)) {}

// --- tags

Result<PartitionResult> TaggedPartitioner::partition(const Program&, const Method& method) const {
  PartitionResult result;
  const Verdict delegated{
      .delegated = true, .owner = spec_.backend_id, .rule = {}, .seen = {}, .allowed = {}};
  std::unordered_set<const Graph*> visited;
  const auto read_tags = [&](const Graph& graph) -> Status {
    visited.insert(&graph);
    for (const Node& node : graph.nodes()) {
      if (node.tag.empty()) {
        result.verdicts.emplace_back(&node, refuse("untagged").refusal);
        continue;
      }
      result.partition_tags.try_emplace(node.tag, spec_);
      result.node_tags.emplace_back(&node, node.tag);
      result.verdicts.emplace_back(&node, delegated);
    }
    return {};
  };
  TRY_STATUS(walk_graphs(method, read_tags, [](const Node& node) { return node.tag.empty(); }));
  for (const auto& [node, tag] : result.node_tags) {
    for (const Graph* body : graphs_below(*node)) {
      if (!visited.insert(body).second) continue;
      for (const Node& inner : body->nodes()) result.verdicts.emplace_back(&inner, delegated);
    }
  }
  tag_constant_data(method, result);
  return result;
}

}  // namespace depute
