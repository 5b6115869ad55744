// Collects findings from a report: see findings.h.
//
//   %a = aten.sort.default, model.py:7, xnnpack: kernel     ->   note, "xnnpack/kernel", model.py, 7,
//   %b = aten.sort.default, model.py:7, xnnpack: kernel          "aten.sort.default (2 nodes) stays on ..."
#include "tools/report/findings.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "tools/report/undelegated.h"

namespace depute {
namespace {

using FoundNode = std::tuple<const void*, const void*, const void*>;  // ids of method, body and node names

FoundNode found_node(Name method, Name graph, Name node) {
  return {method.id(), graph.id(), node.id()};
}

void add_refusal_findings(const Report& report, std::vector<Finding>& findings) {
  if (report.refusals.empty()) return;
  std::map<FoundNode, const NodeReport*> nodes;
  for (const NodeReport& node : report.nodes)
    nodes.emplace(found_node(node.method, node.graph, node.node), &node);
  for (const RefusalReport& refusal : report.refusals) {
    Finding finding{.level = Finding::Level::Error,
                    .rule = refusal.cause.code,
                    .text = fmt::format("{}: {}", refusal.cause.where, refusal.cause.message),
                    .file = report.input};
    const auto found = refusal.node.empty()
                           ? nodes.end()
                           : nodes.find(found_node(refusal.method, refusal.graph, refusal.node));
    if (found != nodes.end() && !found->second->source.file.empty()) {
      finding.file = found->second->source.file.str();
      finding.line = found->second->source.line;
    }
    findings.push_back(std::move(finding));
  }
}

void add_undelegated_findings(const Report& report, std::vector<Finding>& findings) {
  std::map<std::tuple<std::string, std::int32_t, std::string, std::string>,
           std::pair<std::size_t, std::string>>
      groups;
  for (const NodeReport& node : report.nodes) {
    if (!is_undelegated(node)) continue;
    const auto& [backend, verdict] = node.reasons.front();
    auto& group = groups[{std::string(node.source.file.str()), node.source.line, std::string(node.op.str()),
                          reasons_text(node)}];
    ++group.first;
    group.second = backend + "/" + verdict.rule;
  }
  for (const auto& [key, group] : groups) {
    const auto& [file, line, op, reason] = key;
    findings.push_back({.rule = group.second,
                        .text = fmt::format("{} ({} {}) stays on ExecuTorch's kernels: {}", op, group.first,
                                            group.first == 1 ? "node" : "nodes", reason),
                        .file = file.empty() ? report.input : file,
                        .line = line});
  }
}

}  // namespace

std::vector<Finding> findings_of(const Report& report) {
  std::vector<Finding> findings;
  for (const std::string& line : report.unmet) {
    findings.push_back({.level = Finding::Level::Error,
                        .rule = "require",
                        .text = "not met: " + line,
                        .file = report.input});
  }
  for (const LockChange& change : report.lock_changes) {
    const bool has_line = !change.source.file.empty();
    findings.push_back(
        {.level = Finding::Level::Error,
         .rule = "lock",
         .text = fmt::format("{}{}{}", change.place, change.place.empty() ? "" : ": ", change.text),
         .file = has_line ? std::string(change.source.file.str()) : report.input,
         .line = has_line ? change.source.line : 0});
  }
  add_refusal_findings(report, findings);
  add_undelegated_findings(report, findings);
  return findings;
}

}  // namespace depute
