#include "report/report.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/copy.h"
#include "lower/inspect.h"

namespace depute {

std::uint64_t Report::delegated_nodes() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(nodes, [](const NodeReport& node) { return !node.delegate.empty(); }));
}

std::uint64_t Report::non_delegated_nodes() const {
  return nodes.size() - delegated_nodes();
}

double Report::coverage() const {
  if (nodes.empty()) return 100.0;
  return 100.0 * static_cast<double>(delegated_nodes()) / static_cast<double>(nodes.size());
}

Report make_report(const Program& normalised) {
  Report report;
  for (const auto& method : normalised.methods) {
    for (const Graph* graph : graphs_below(*method->graph)) {
      for (const Node& node : graph->nodes()) {
        report.nodes.push_back({.method = method->name,
                                .graph = graph == method->graph.get() ? Symbol() : graph->name(),
                                .node = node.results().empty() ? node.op() : node.result()->name(),
                                .op = node.op(),
                                .source = node.source != nullptr ? *node.source : SourceLocation(),
                                .owner = "portable",
                                .delegate = {},
                                .reasons = {}});
      }
    }
  }
  return report;
}

void add_verdicts(Report& report, std::string_view backend_name, const std::vector<NodeVerdict>& verdicts) {
  // By method and graph.
  std::map<std::pair<std::string_view, std::string_view>, std::unordered_map<Symbol, NodeReport*>> by_graph;
  for (NodeReport& node : report.nodes) by_graph[{node.method.str(), node.graph.str()}][node.node] = &node;
  for (const NodeVerdict& verdict : verdicts) {
    auto& nodes = by_graph[{verdict.method.str(), verdict.graph.str()}];
    auto found = nodes.find(verdict.node);
    if (found == nodes.end()) continue;  // a call of an earlier delegate
    if (verdict.verdict.delegated) {
      found->second->owner = verdict.verdict.owner;
      found->second->delegate = verdict.delegate;
    } else {
      found->second->reasons.emplace_back(std::string(backend_name), verdict.verdict);
    }
  }
}

void add_delegates(Report& report, const Program& lowered) {
  std::unordered_map<Symbol, std::uint64_t> node_count;
  for (const NodeReport& node : report.nodes) ++node_count[node.delegate];
  for (const DelegateCall& call : get_delegates(lowered)) {
    const Delegate& delegate = *call.delegate;
    DelegateReport entry{.name = delegate.name,
                         .method = call.method->name,
                         .backend_id = delegate.backend_id,
                         .nodes = node_count[delegate.name],
                         .inputs = call.call->args().size() - 1,
                         .outputs = call.call->results().size(),
                         .blob_bytes = delegate.processed_bytes->size()};
    for (const NamedData& data : delegate.named_data) entry.data_bytes += data.storage->size();
    report.delegates.push_back(std::move(entry));
  }
}

}  // namespace depute
