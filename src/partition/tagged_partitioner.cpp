#include "depute/backend/tagged_partitioner.h"

#include <unordered_set>

#include "ir/walk.h"
#include "partition/tag_data.h"
#include "support/try.h"

namespace depute {

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
