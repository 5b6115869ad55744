// Writes a document as Markdown, for a build summary or a comment on a pull request:
//
//   ### model.pt2: 87.3 % of 181 nodes in 24 delegates
//   | left to ExecuTorch's kernels | nodes | why | first at |
//   |---|---:|---|---|
//   | `aten.sort.default` | 2 | xnnpack: kernel | `model.py:7` |
#include "depute/program/result.h"
#include "support/number_text.h"
#include "tools/document/document.h"

namespace depute::doc {
namespace {

constexpr std::size_t max_rows = 20;

// In a code span, only the backtick and the table's '|' are special. Other text must not start a table
// column, link or tag.
std::string escaped(const Span& span) {
  const bool is_code = span.style == Style::Code;
  std::string out;
  for (char c : printable(span.text)) {
    if (std::string_view(is_code ? "|" : "\\`*_[]<>|#&!").find(c) != std::string_view::npos) out += '\\';
    out += is_code && c == '`' ? '\'' : c;
  }
  return out;
}

std::string markdown(const Text& text) {
  std::string out;
  for (const Span& span : text.spans) {
    if (span.text.empty()) continue;
    const std::string_view mark = span.style == Style::Code ? "`" : span.style == Style::Strong ? "**" : "";
    out += fmt::format("{}{}{}", mark, escaped(span), mark);
  }
  return out;
}

std::string markdown(const Heading& heading) {
  return fmt::format("### {}\n", markdown(heading.text));
}

std::string markdown(const Line& line) {
  return markdown(line.text) + "\n";
}

std::string markdown(const List& list) {
  std::string out;
  for (const Item& item : list.items) {
    out += fmt::format("1. {}\n", markdown(item.text));
    for (const Fact& fact : item.facts) out += fmt::format("   - {} {}\n", fact.label, markdown(fact.text));
  }
  return out;
}

std::string markdown(const Table& table) {
  std::string names = "|";
  std::string line = "|";
  for (const Column& column : table.columns) {
    names += fmt::format(" {} |", column.name);
    line += column.kind == Column::Kind::Text ? "---|" : "---:|";
  }
  std::string out = names + "\n" + line + "\n";
  const std::size_t shown = shown_of(table.rows.size(), max_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    out += '|';
    for (const Cell& cell : table.rows[i].cells) out += fmt::format(" {} |", markdown(cell.text));
    out += '\n';
  }
  const std::size_t more = table.rows.size() - shown;
  return more == 0 ? out : out + fmt::format("\n{} more are not listed.\n", plural(more, table.noun));
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out;
  for (const auto& each : document.blocks)
    out +=
        (out.empty() ? "" : "\n") + std::visit([](const auto& of_kind) { return markdown(of_kind); }, each);
  return out;
}

}  // namespace depute::doc
