#include "partition/graph_answers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ops/own_ops.h"
#include "partition/border.h"

namespace depute {

GraphAnswers ask(const Proposal& proposal, const Graph& graph) {
  const DelegateCost& cost = proposal.options.cost;
  GraphAnswers answers;
  answers.judges_worth = cost.launch > 0 || cost.per_kib > 0;
  answers.support.reserve(graph.node_count());
  answers.gain.reserve(graph.node_count());
  answers.refusal_of.reserve(graph.node_count());
  for (const Node& node : graph.nodes()) {
    const bool asked = !is_delegate_call(node) || proposal.options.take_delegates;
    NodeSupport answer = asked ? proposal.support(node) : refuse("delegated");
    answers.support.push_back(answer.support);
    answers.gain.push_back(answer.gain);
    answers.refusal_of.push_back(static_cast<std::uint32_t>(answers.refusals.size()));
    if (answer.support == Support::Unsupported) answers.refusals.push_back(std::move(answer.refusal));
    answers.judges_worth |= answer.support == Support::Supported && answer.gain == 0;
  }
  return answers;
}

NumberedGraph number_graph(const Graph& graph, const EffectOrder& effects) {
  NumberedGraph numbered{.nodes = {}, .order = NodeOrder(graph), .regions = {}};
  const NodeOrder& order = numbered.order;
  RegionGraph& regions = numbered.regions;
  std::vector<std::uint32_t> producers;
  numbered.nodes.reserve(graph.node_count());
  regions.support.reserve(graph.node_count());
  regions.preds.start.reserve(graph.node_count() + 1);
  regions.preds.items.reserve(2 * graph.node_count());
  regions.bytes.reserve(graph.node_count());
  for (const Node& node : graph.nodes()) {
    numbered.nodes.push_back(&node);
    producers.clear();
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Node* producer = node.operand(i)->producer();
      if (producer != nullptr) producers.push_back(order[*producer]);
    }
    for (const Node* earlier : effects.before(node)) producers.push_back(order[*earlier]);
    std::ranges::sort(producers);
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    std::uint64_t bytes = 0;
    for (const Value* result : node.results()) bytes = saturating_sum(bytes, value_bytes(*result));
    regions.add_node(Support::Unsupported, producers);
    regions.bytes.push_back(bytes);
  }
  for (std::size_t i = 0; i < graph.return_node()->operand_count(); ++i) {
    const Node* producer = graph.return_node()->operand(i)->producer();
    if (producer != nullptr) regions.outputs.push_back(order[*producer]);
  }
  std::ranges::sort(regions.outputs);
  regions.outputs.erase(std::unique(regions.outputs.begin(), regions.outputs.end()), regions.outputs.end());
  return numbered;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

}  // namespace depute
