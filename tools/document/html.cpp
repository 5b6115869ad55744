// Writes a document as one HTML page: a section for each table, without scripts.
//
//   moved {%relu: xnnpack -> portable}
//     ->  <tr><td data-column="Line"><code>model.py:12</code></td><td data-column="Node">%relu ...
#include <algorithm>

#include "tools/document/document.h"

namespace depute::doc {
namespace {

// Rows that are visible at first; a click opens the others.
constexpr std::size_t shown_rows = 50;

constexpr std::string_view page_start = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{0}: {1}</title>
<style>
{3}header {{ padding-bottom: 1.2rem; }}
summary {{ padding: .5rem 0; cursor: pointer; }}
.part td:first-child {{ padding-left: 1.5rem; }}
.share {{ width: 26%; }}
.share span {{ display: block; height: .7rem; margin-top: .4rem; min-width: 1px; max-width: 100%; border-radius: 3px; background: var(--backend-0); print-color-adjust: exact; }}
</style>
</head>
<body>
<header><p class="kicker">{1}</p><h1>{0}</h1><p id="written">{2}</p></header>
<main>
)";

std::string html(const Text& text) {
  std::string out;
  for (const Span& span : text.spans) {
    const std::size_t indent = out.empty() ? span.text.find_first_not_of(' ') : 0;
    const std::string escaped =
        escape_html(std::string_view(span.text).substr(std::min(indent, span.text.size())));
    const std::string_view tag = span.style == Style::Code ? "code" : span.style == Style::Strong ? "b" : "";
    out += tag.empty() ? escaped : fmt::format("<{0}>{1}</{0}>", tag, escaped);
  }
  return out;
}

// On small screens, the names of columns replace the table's head.
std::string cell_html(const Column& column, const Cell& cell) {
  const bool is_number = column.kind != Column::Kind::Text;
  const bool is_absent =
      cell.text.empty() && !cell.text.spans.empty() && cell.text.spans[0].style == Style::Code;
  const std::string_view look = is_number             ? " class=\"number\""
                                : is_absent           ? " class=\"dim\""
                                : !cell.color.empty() ? " class=\"short\""
                                                      : "";
  std::string out = fmt::format("<td data-column=\"{}\"{}>", column.name, look);
  if (!cell.color.empty())
    out += fmt::format("<span class=\"swatch\" style=\"background:var({})\" aria-hidden=\"true\"></span>",
                       cell.color);
  out += is_absent ? "&ndash;" : html(cell.text);
  if (!cell.below.empty()) out += fmt::format("<div class=\"dim\">{}</div>", escape_html(cell.below));
  out += "</td>";
  if (column.kind == Column::Kind::Percent)
    out += fmt::format("<td class=\"share\"><span style=\"width:{}%\"></span></td>", html(cell.text));
  return out;
}

std::string table_html(const std::vector<Column>& columns, std::span<const Row> rows) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const Column& column : columns) {
    out += fmt::format("<th{}>{}</th>", column.kind == Column::Kind::Text ? "" : " class=\"number\"",
                       column.name);
    if (column.kind == Column::Kind::Percent) out += "<th class=\"share\"></th>";
  }
  out += "</tr></thead><tbody>\n";
  for (const Row& row : rows) {
    out += row.is_part ? "<tr class=\"part\">" : "<tr>";
    for (std::size_t i = 0; i < row.cells.size(); ++i) out += cell_html(columns[i], row.cells[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html(const Heading& heading) {
  return fmt::format("<h2>{}</h2>\n", html(heading.text));
}

std::string html(const Line& line) {
  return line.is_in_page ? fmt::format("<p class=\"dim\">{}</p>\n", html(line.text)) : "";
}

std::string html(const List& list) {
  std::string out = "<ol>\n";
  for (const Item& item : list.items) {
    out += fmt::format("<li>{}", escape_html(item.text));
    for (const Fact& fact : item.facts)
      out += fmt::format("<div class=\"dim\">{} {}</div>", escape_html(fact.label), escape_html(fact.text));
    out += "</li>\n";
  }
  return out + "</ol>\n";
}

std::string html(const Table& table) {
  const std::span<const Row> rows = table.rows;
  const std::size_t shown = std::min(rows.size(), shown_rows);
  std::string out = fmt::format("<section{}><h2>{} ({})</h2>\n{}",
                                table.id.empty() ? "" : fmt::format(" id=\"{}\"", table.id),
                                table.page_title.empty() ? table.title : table.page_title, rows.size(),
                                table_html(table.columns, rows.first(shown)));
  if (rows.size() > shown)
    out += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", rows.size() - shown,
                       table_html(table.columns, rows.subspan(shown)));
  return out + "</section>\n";
}

}  // namespace

std::string render_html(const Document& document, std::string_view style) {
  std::string out = fmt::format(fmt::runtime(page_start), escape_html(document.title), document.kicker,
                                escape_html(document.lead), style);
  for (const auto& each : document.blocks)
    out += std::visit([](const auto& of_kind) { return html(of_kind); }, each);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace depute::doc
