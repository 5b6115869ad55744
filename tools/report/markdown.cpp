// Writes the report as Markdown, for a build summary or a comment on a pull request:
//
//   ### model.pt2: 87.3 % of 181 nodes in 24 delegates
//   | left to ExecuTorch's kernels | nodes | why | first at |
//   |---|---:|---|---|
//   | `aten.sort.default` | 2 | xnnpack: kernel | `model.py:7` |
#include <fmt/format.h>

#include "depute/program/result.h"
#include "tools/report/boundaries.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

// Maximum number of table rows, to keep comments short.
constexpr std::size_t listed_kinds = 20;

// Escapes text of a table cell, so that it cannot start a table column, link or tag.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    if (std::string_view("\\`*_[]<>|#&!").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// In a code span, only the backtick and the table's '|' are special.
std::string code(std::string_view text) {
  std::string out = "`";
  for (char c : printable(text)) {
    if (c == '|') out += '\\';
    out += c == '`' ? '\'' : c;
  }
  return out + "`";
}

std::string count(std::size_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

std::string lock_table(const Report& report) {
  if (report.lock_changes.empty()) return {};
  std::string text = "\n| not as the lock says | what changed | at |\n|---|---|---|\n";
  const std::size_t shown = std::min(report.lock_changes.size(), listed_kinds);
  for (std::size_t i = 0; i < shown; ++i) {
    const LockChange& change = report.lock_changes[i];
    const std::string place = change.source.str();
    text += fmt::format("| {} | {} | {} |\n", cell(change.place), cell(change.text),
                        place.empty() ? "" : code(place));
  }
  if (report.lock_changes.size() > shown)
    text += fmt::format("\n{} more are not listed.\n", count(report.lock_changes.size() - shown, "change"));
  return text;
}

std::string undelegated_table(const Report& report) {
  const std::vector<Undelegated> groups = group_undelegated(report);
  if (groups.empty()) return {};
  std::string text = "\n| left to ExecuTorch's kernels | nodes | why | first at |\n|---|---:|---|---|\n";
  const std::size_t shown = std::min(groups.size(), listed_kinds);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string place = groups[i].first_source.str();
    text += fmt::format("| {} | {} | {} | {} |\n", code(groups[i].op), groups[i].cost.nodes,
                        cell(groups[i].reason), place.empty() ? "" : code(place));
  }
  if (groups.size() > shown)
    text += fmt::format("\n{} more are not listed.\n", count(groups.size() - shown, "kind"));
  return text;
}

std::string boundaries_table(const Report& report) {
  if (!has_several_backends(report)) return {};
  std::string text = "\n| over the border of | tensors | bytes |\n|---|---:|---:|\n";
  for (const BoundaryReport& boundary : report.boundaries)
    text += fmt::format("| {} to {} | {} | {} |\n", code(boundary.from), code(boundary.to), boundary.tensors,
                        boundary.bytes ? bytes_text(*boundary.bytes) : "of unbounded size");
  return text;
}

}  // namespace

std::string report_markdown(const Report& report) {
  std::string text =
      fmt::format("### {}: {:.1f} % of {} in {}\n", cell(report.input), report.coverage(),
                  count(report.nodes.size(), "node"), count(report.delegates.size(), "delegate"));
  for (const std::string& line : report.unmet) text += fmt::format("\n**Not met:** {}\n", cell(line));
  text += lock_table(report);
  if (!report.output.empty())
    text += fmt::format("\n{}: {}\n", code(report.output), bytes_text(report.output_bytes));
  for (const ExternalFile& file : report.external_files)
    text += fmt::format("\nwith its data in {}: {}\n", code(file.path), bytes_text(file.bytes));
  text += boundaries_table(report);
  text += undelegated_table(report);
  for (const RefusalReport& refusal : report.refusals)
    text += fmt::format("\n**Refused:** {}: {}\n", cell(refusal.cause.where), cell(refusal.cause.message));
  for (const std::string& note : report.notes) text += fmt::format("\n{}\n", cell(note));
  return text;
}

}  // namespace depute
