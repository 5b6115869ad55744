#include "depute/backend/partitioner.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "depute/backend/partitioners.h"
#include "depute/program/walk.h"
#include "partition/check_groups.h"
#include "support/try.h"

namespace depute {

NodeSupport refuse(std::string_view rule, std::string_view seen, std::string_view allowed) {
  return {Support::Unsupported,
          0,
          {.delegated = false,
           .owner = {},
           .rule = std::string(rule),
           .seen = std::string(seen),
           .allowed = std::string(allowed)}};
}

Status check_groups(const Method& method, std::span<const std::vector<const Node*>> groups) {
  if (groups.empty()) return {};
  const std::vector<const Graph*> known = graphs_of(method);
  const std::unordered_set<const Graph*> graphs(known.begin(), known.end());
  for (const auto& group : groups) {
    for (const Node* node : group) {
      if (node == nullptr)
        return failure("partition", method.name.str(), "a group has a null node", "omit missing nodes");
      if (node->is_return())
        return failure("partition", place_of(*node), "a group must not contain the return node",
                       "groups consist of calls");
      if (!graphs.contains(&node->graph())) {
        return failure("partition", place_of(*node),
                       fmt::format("is in a group, but is not in method {}", method.name.str()),
                       "use nodes of the method that partition() was called with");
      }
      const Graph& graph = group.front()->graph();
      if (&node->graph() == &graph) continue;
      return failure("partition", place_of(*node),
                     fmt::format("is in a group with %{} of another graph ({})",
                                 group.front()->display_name(), graph.name().str()),
                     "all nodes of a group must be in the same graph");
    }
  }
  return {};
}

Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           const Proposal& proposal) {
  return plan_jointly(program, method, std::span(&proposal, 1));
}

Result<PartitionResult> propose_partitions(const Program& program, const Method& method,
                                           SupportFunction support, ProposeOptions options) {
  return propose_partitions(program, method, Proposal{std::move(support), std::move(options)});
}

OpsToNotDecompose ProposalPartitioner::ops_to_not_decompose(const Program& program) const {
  return ops_to_not_decompose_ ? ops_to_not_decompose_(program) : OpsToNotDecompose();
}

Result<PartitionResult> ProposalPartitioner::partition(const Program& program, const Method& method) const {
  TRY(const Proposal proposal, propose_(program, method));
  return propose_partitions(program, method, proposal);
}

Result<std::optional<Proposal>> ProposalPartitioner::proposal(const Program& program,
                                                              const Method& method) const {
  TRY(Proposal proposal, propose_(program, method));
  return proposal;
}

}  // namespace depute
