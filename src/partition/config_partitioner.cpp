#include "depute/backend/config_partitioner.h"

#include <algorithm>

#include "ir/walk.h"
#include "partition/neighbors.h"

namespace depute {

Result<std::unique_ptr<ConfigPartitioner>> ConfigPartitioner::make(
    std::vector<std::unique_ptr<OpConfig>> configs, ProposeOptions options) {
  Configs by_op;
  for (std::unique_ptr<OpConfig>& config : configs) {
    const Name op(config->op());
    if (!by_op.emplace(op, std::move(config)).second)
      return failure("partition", op.str(), "two configs are for this op", "join them to one");
  }
  return std::unique_ptr<ConfigPartitioner>(new ConfigPartitioner(std::move(by_op), std::move(options)));
}

OpsToNotDecompose ConfigPartitioner::ops_to_not_decompose(const Program&) const {
  OpsToNotDecompose kept;
  for (const auto& [op, config] : *configs_) kept.ops.push_back(op);
  std::ranges::sort(kept.ops, {}, &Name::str);
  kept.filter = [configs = configs_](const Node& node) {
    auto config = configs->find(node.op());
    return config != configs->end() && config->second->keeps_whole(node);
  };
  return kept;
}

// Groups each supported node with its neighbors, and merges groups that share a node.
void ConfigPartitioner::add_groups(const Program& program, const Method& method, const Graph& graph,
                                   Proposal& proposal) const {
  std::vector<std::vector<const Node*>> candidates;
  for (const Node& node : graph.nodes()) {
    auto config = configs_->find(node.op());
    if (config == configs_->end()) continue;
    if (config->second->check(program, method, node).support == Support::Unsupported) continue;
    candidates.push_back({&node});
    config->second->add_neighbors(node, candidates.back());
    if (candidates.back().size() == 1) candidates.pop_back();
  }
  for (auto& group : united(graph, candidates)) proposal.options.groups.push_back(std::move(group));
}

Result<Proposal> ConfigPartitioner::propose(const Program& program, const Method& method) const {
  Proposal proposal{.support = {}, .options = options_};
  for (const Graph* graph : graphs_of(method)) add_groups(program, method, *graph, proposal);
  proposal.support = [configs = configs_, &program, &method](const Node& node) {
    auto config = configs->find(node.op());
    if (config == configs->end()) return refuse("no-config", node.op().str(), "ops with a config");
    return config->second->check(program, method, node);
  };
  return proposal;
}

}  // namespace depute
