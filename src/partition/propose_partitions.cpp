#include "partition/propose_partitions.h"

#include <fmt/format.h>

#include <algorithm>

namespace depute {
namespace {

constexpr std::uint32_t never = 0xffffffff;

std::uint64_t value_bytes(const Value& value) {
  if (!value.type().is_tensor()) return sizeof(std::int64_t);
  return value.tensor().static_bytes().value_or(1);
}

// The region graph of a method. Values computed outside of the graph (its inputs) have no node.
RegionGraph make_region_graph(const Graph& graph, const std::vector<NodeSupport>& answers,
                              const std::vector<std::vector<const Node*>>& groups) {
  RegionGraph regions;
  std::vector<std::uint32_t> producers;
  for (const Node& node : graph.nodes()) {
    producers.clear();
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Node* producer = node.operand(i)->producer();
      if (producer != nullptr) producers.push_back(producer->scratch);
    }
    std::ranges::sort(producers);
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    for (const Value* result : node.results()) bytes += value_bytes(*result);
    regions.add_node(answers[node.scratch].support, producers);
    regions.bytes.push_back(bytes);
  }
  for (std::size_t i = 0; i < graph.return_node()->operand_count(); ++i) {
    const Node* producer = graph.return_node()->operand(i)->producer();
    if (producer != nullptr) regions.outputs.push_back(producer->scratch);
  }
  std::ranges::sort(regions.outputs);
  regions.outputs.erase(std::unique(regions.outputs.begin(), regions.outputs.end()), regions.outputs.end());
  std::vector<std::uint32_t> members;
  for (const auto& group : groups) {
    members.clear();
    for (const Node* node : group) members.push_back(node->scratch);
    std::ranges::sort(members);
    regions.add_group(members);
  }
  return regions;
}

Verdict verdict_of(const RegionPlan& plan, std::uint32_t node, const NodeSupport& answer,
                   const ProposeOptions& options) {
  switch (plan.placement[node]) {
    case Placement::InRegion:
      return {.delegated = true, .owner = options.owner, .rule = {}, .seen = {}, .allowed = {}};
    case Placement::Neutral:
      return refuse("no-compute", "a view or copy beside no delegated computation").refusal;
    case Placement::TooSmall:
      return refuse("too-small", fmt::format("{} nodes", plan.refused_size[node]),
                    fmt::format("at least {}", options.regions.min_nodes))
          .refusal;
    case Placement::Unsupported:
      break;
  }
  if (answer.support == Support::Unsupported) return answer.refusal;
  return refuse("group", "the nodes it must stay with cannot be taken with it").refusal;
}

// Every constant that a region's nodes use, once per region.
void tag_constants(const Method& method, const RegionPlan& plan, const std::vector<const Node*>& nodes,
                   const std::vector<Symbol>& tags, PartitionResult& result) {
  std::vector<std::uint32_t> last_region(method.graph->inputs().size(), never);
  for (std::uint32_t region = 0; region < plan.regions.size(); ++region) {
    for (std::uint32_t number : plan.regions[region]) {
      const Node& node = *nodes[number];
      for (std::size_t i = 0; i < node.operand_count(); ++i) {
        const Value* value = node.operand(i);
        const InputSpec* spec = input_spec(method, *value);
        if (spec == nullptr || !spec->has_data() || is_mutated(method, *spec)) continue;
        if (last_region[value->index()] == region) continue;
        last_region[value->index()] = region;
        result.constant_tags.emplace_back(value, tags[region]);
      }
    }
  }
}

}  // namespace

NodeSupport refuse(std::string_view rule, std::string_view seen, std::string_view allowed) {
  return {Support::Unsupported,
          {.delegated = false,
           .owner = {},
           .rule = std::string(rule),
           .seen = std::string(seen),
           .allowed = std::string(allowed)}};
}

PartitionResult propose_partitions(const Method& method, const SupportFunction& support,
                                   const ProposeOptions& options) {
  const Graph& graph = *method.graph;
  graph.number_nodes();
  std::vector<const Node*> nodes;
  std::vector<NodeSupport> answers;
  for (const Node& node : graph.nodes()) {
    nodes.push_back(&node);
    answers.push_back(node.op() == "delegate.call" ? refuse("delegated") : support(node));
  }
  graph.number_nodes();  // a support function may have used the numbers for itself
  RegionPlan plan = grow_regions(make_region_graph(graph, answers, options.groups), options.regions);
  PartitionResult result;
  std::vector<Symbol> tags;
  for (std::size_t i = 0; i < plan.regions.size(); ++i) {
    tags.emplace_back(fmt::format("{}{}", options.owner, i));
    result.partition_tags[tags.back()] = options.spec;
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (plan.placement[i] == Placement::InRegion)
      result.node_tags.emplace_back(nodes[i], tags[plan.region_of[i]]);
    result.verdicts.emplace_back(nodes[i], verdict_of(plan, i, answers[i], options));
  }
  if (options.move_constants) tag_constants(method, plan, nodes, tags, result);
  return result;
}

}  // namespace depute
