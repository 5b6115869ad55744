#include "report/report.h"

#include <algorithm>
#include <unordered_map>

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
    for (const Node& node : method->graph->nodes()) {
      report.nodes.push_back({.method = method->name,
                              .node = node.results().empty() ? node.op() : node.result()->name(),
                              .op = node.op(),
                              .source = node.source != nullptr ? *node.source : SourceLocation(),
                              .owner = "portable",
                              .delegate = {},
                              .reasons = {}});
    }
  }
  return report;
}

void add_verdicts(Report& report, std::string_view backend_name, const std::vector<NodeVerdict>& verdicts) {
  std::unordered_map<Symbol, std::unordered_map<Symbol, NodeReport*>> by_method;
  for (NodeReport& node : report.nodes) by_method[node.method][node.node] = &node;
  for (const NodeVerdict& verdict : verdicts) {
    auto& nodes = by_method[verdict.method];
    auto found = nodes.find(verdict.node);
    if (found == nodes.end()) continue;  // a call of an earlier delegate
    if (verdict.verdict.delegated && !verdict.delegate.empty()) {
      found->second->owner = std::string(backend_name);
      found->second->delegate = verdict.delegate;
    } else {
      found->second->reasons.emplace_back(std::string(backend_name), verdict.verdict);
    }
  }
}

void add_delegates(Report& report, const Program& lowered) {
  std::unordered_map<Symbol, std::uint64_t> node_count;
  for (const NodeReport& node : report.nodes) ++node_count[node.delegate];
  std::unordered_map<Symbol, const Delegate*> delegates;
  for (const auto& delegate : lowered.delegates) delegates[delegate->name] = delegate.get();
  for (const auto& method : lowered.methods) {
    for (const Node& node : method->graph->nodes()) {
      if (node.op() != "delegate.call") continue;
      const Delegate* delegate = delegates.at(node.arg(0).as_symbol());
      DelegateReport entry{.name = delegate->name,
                           .method = method->name,
                           .backend_id = delegate->backend_id,
                           .nodes = node_count[delegate->name],
                           .inputs = node.args().size() - 1,
                           .outputs = node.results().size(),
                           .blob_bytes = delegate->processed_bytes->size()};
      for (const NamedData& data : delegate->named_data) entry.data_bytes += data.storage->size();
      report.delegates.push_back(std::move(entry));
    }
  }
}

}  // namespace depute
