#include "partition/tagged_partitioner.h"

#include <set>

#include "partition/propose_partitions.h"

namespace depute {

Result<PartitionResult> TaggedPartitioner::partition(const Program&, const Method& method) const {
  PartitionResult result;
  std::set<std::pair<std::uint32_t, Symbol>, decltype([](const auto& a, const auto& b) {
             return a.first != b.first ? a.first < b.first : a.second.str() < b.second.str();
           })>
      moved;
  for (const Node& node : method.graph->nodes()) {
    if (node.tag.empty()) {
      result.verdicts.emplace_back(&node, refuse("untagged").refusal);
      continue;
    }
    result.partition_tags[node.tag] = spec_;
    result.node_tags.emplace_back(&node, node.tag);
    result.verdicts.emplace_back(&node, Verdict{.delegated = true, .owner = spec_.backend_id});
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value* value = node.operand(i);
      const InputSpec* spec = input_spec(method, *value);
      if (spec == nullptr || !spec->has_data() || is_mutated(method, *spec)) continue;
      if (moved.emplace(value->index(), node.tag).second) result.constant_tags.emplace_back(value, node.tag);
    }
  }
  return result;
}

}  // namespace depute
