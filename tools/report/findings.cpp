// Collects findings from a report: see findings.h.
//
//   %a = aten.sort.default, model.py:7, xnnpack: kernel     ->   note, "xnnpack/kernel", model.py, 7,
//   %b = aten.sort.default, model.py:7, xnnpack: kernel          "aten.sort.default (2 nodes) stays on ..."
#include "tools/report/findings.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "support/number_text.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

void add_refusal_findings(const Report& report, std::vector<Finding>& findings) {
  const std::vector<SourceLocation> sources = refusal_sources(report);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Diagnostic& cause = report.refusals[i].cause;
    const bool has_line = !sources[i].file.empty();
    findings.push_back({.level = Finding::Level::Error,
                        .rule = cause.code,
                        .text = fmt::format("{}: {}", cause.where, cause.message),
                        .file = has_line ? std::string(sources[i].file.str()) : report.input,
                        .line = has_line ? sources[i].line : 0});
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
                        .text = fmt::format("{} ({}) stays on ExecuTorch's kernels: {}", op,
                                            plural(group.first, "node"), reason),
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

std::string report_annotations(const Report& report) {
  return render_annotations(findings_of(report));
}

}  // namespace depute
