// Writes the comparison of two lowerings as one HTML page, in the style of the report's page. It consists of
// tables without scripts; text from models is escaped.
//
//   moved {%relu: xnnpack -> portable}
//     ->  <tr><td><code>model.py:12</code></td><td>%relu ...</td><td>xnnpack</td><td>portable</td>...</tr>
#include <fmt/format.h>

#include "tools/diff/diff.h"
#include "tools/report/html.h"
#include "tools/report/page_parts.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

// Rows that are visible at first; a click opens the others.
constexpr std::size_t shown_rows = 50;

std::string code_cell(std::string_view text) {
  return text.empty() ? "<td class=\"dim\">&ndash;</td>" : "<td><code>" + escape_html(text) + "</code></td>";
}
std::string text_cell(std::string_view text) {
  return "<td>" + escape_html(text) + "</td>";
}
std::string number_cell(std::string_view text) {
  return "<td class=\"number\">" + escape_html(text) + "</td>";
}
std::string count_cell(std::uint64_t number) {
  return number_cell(fmt::format("{}", number));
}

using Rows = std::vector<std::string>;  // the cells of each row

struct Column {
  std::string_view name;
  std::string_view kind = "";
};
using Columns = std::vector<Column>;

constexpr std::string_view as_number = "number";

// Adds column names to the cells. On small screens they replace the table's head.
std::string named_cells(const Columns& columns, std::string_view row) {
  constexpr std::string_view cell = "<td";  // text is escaped, so no text contains this
  std::string html;
  for (const Column& column : columns) {
    const std::size_t end = std::min(row.find(cell, cell.size()), row.size());
    html +=
        fmt::format("{} data-column=\"{}\"{}", cell, column.name, row.substr(cell.size(), end - cell.size()));
    row.remove_prefix(end);
  }
  return html;
}

std::string table(const Columns& columns, const Rows& rows, std::size_t first, std::size_t end) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const auto& [name, kind] : columns)
    html +=
        kind.empty() ? fmt::format("<th>{}</th>", name) : fmt::format("<th class=\"{}\">{}</th>", kind, name);
  html += "</tr></thead><tbody>\n";
  for (std::size_t i = first; i < end; ++i) html += "<tr>" + named_cells(columns, rows[i]) + "</tr>\n";
  return html + "</tbody></table></div>\n";
}

std::string section(std::string_view id, std::string_view title, const Columns& columns, const Rows& rows) {
  if (rows.empty()) return {};
  const std::size_t shown = std::min(rows.size(), shown_rows);
  std::string html = fmt::format("<section id=\"{}\"><h2>{} ({})</h2>\n{}", id, title, rows.size(),
                                 table(columns, rows, 0, shown));
  if (rows.size() > shown)
    html += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", rows.size() - shown,
                        table(columns, rows, shown, rows.size()));
  return html + "</section>\n";
}

template <typename T, typename Row>
Rows rows_of(const std::vector<T>& items, const Row& row) {
  Rows rows;
  for (const T& item : items) rows.push_back(row(item));
  return rows;
}

std::string node_cells(const NodeReport& node) {
  return code_cell(node.source.str()) + fmt::format("<td><code>%{}</code><div class=\"dim\">{}</div></td>",
                                                    escape_html(node.node.str()), escape_html(node.op.str()));
}

std::string owner_cell(const NodeReport& node) {
  std::string color = "--backend-0";
  if (!is_delegated(node))
    color = node.owner == "no-kernel" || node.owner == "refused" ? "--" + node.owner : "--portable";
  return fmt::format(
      "<td class=\"short\"><span class=\"swatch\" style=\"background:var({})\" "
      "aria-hidden=\"true\"></span>{}</td>",
      color, escape_html(node.owner));
}

std::string figure_row(const DiffFigure& figure) {
  auto text = [&](double number) {
    return figure.is_percent ? fmt::format("{:.1f} %", number) : fmt::format("{:.0f}", number);
  };
  const double change = figure.after - figure.before;
  return text_cell(figure.name) + number_cell(text(figure.before)) + number_cell(text(figure.after)) +
         number_cell(change == 0 ? "" : (change > 0 ? "+" : "") + text(change));
}

std::string parts_cell(const DiffDelegate& delegate) {
  std::string cell = delegate.is_new ? "<td>from " : "<td>to ";
  for (std::size_t i = 0; i < delegate.parts.size(); ++i) {
    const auto& [place, count] = delegate.parts[i];
    const std::string_view nowhere = delegate.is_new ? "nodes that are new" : "nodes no longer there";
    cell += fmt::format("{}{} &times; {}", i == 0 ? "" : ", ", place.empty() ? nowhere : escape_html(place),
                        count);
  }
  return cell + "</td>";
}

Columns node_columns(std::initializer_list<Column> others) {
  Columns columns = {{"Line"}, {"Node"}};
  columns.insert(columns.end(), others);
  return columns;
}

constexpr Column bytes_before{"Bytes before", as_number};
constexpr Column bytes_after{"Bytes after", as_number};

std::string node_sections(const LoweringDiff& diff) {
  auto moved = [](const DiffNode& node) {
    return node_cells(node.after) + owner_cell(node.before) + owner_cell(node.after) +
           text_cell(why_moved(node));
  };
  auto other = [](const DiffNode& node) {
    return node_cells(node.after) + text_cell(reasons_text(node.before)) +
           text_cell(reasons_text(node.after));
  };
  auto only = [](const NodeReport& node) { return node_cells(node) + owner_cell(node); };
  auto delegate = [](const DiffDelegate& each) {
    return code_cell(each.name) + count_cell(each.nodes) + parts_cell(each);
  };
  return section("moved", "Moved nodes", node_columns({{"Before"}, {"After"}, {"Why"}}),
                 rows_of(diff.moved, moved)) +
         section("other-reason", "Nodes left for another reason", node_columns({{"Before"}, {"After"}}),
                 rows_of(diff.other_reason, other)) +
         section("only-before", "Nodes only before", node_columns({{"Owner"}}),
                 rows_of(diff.only_before, only)) +
         section("only-after", "Nodes only after", node_columns({{"Owner"}}),
                 rows_of(diff.only_after, only)) +
         section("delegates", "Delegates with other nodes",
                 {{"Delegate"}, {"Nodes", as_number}, {"Where they are"}}, rows_of(diff.delegates, delegate));
}

std::string file_sections(const LoweringDiff& diff) {
  auto call = [](const DiffCall& each) {
    return code_cell(each.callee) + code_cell(each.method) + count_cell(each.before) + count_cell(each.after);
  };
  auto payload = [](const DiffPayload& each) {
    return code_cell(each.backend_id) + code_cell(each.method) + text_cell(name(each.change)) +
           count_cell(each.bytes_before) + count_cell(each.bytes_after);
  };
  auto layer = [](const DiffLayer& each) {
    return code_cell(each.name) + count_cell(each.weights) + count_cell(each.bytes_before) +
           count_cell(each.bytes_after);
  };
  return section("instructions", "Instructions",
                 {{"Calls"}, {"Method"}, {"Before", as_number}, {"After", as_number}},
                 rows_of(diff.calls, call)) +
         section("payloads", "Payloads", {{"Backend"}, {"Method"}, {"Change"}, bytes_before, bytes_after},
                 rows_of(diff.payloads, payload)) +
         section("weights", "Modules with other weights",
                 {{"Module"}, {"Weights", as_number}, bytes_before, bytes_after},
                 rows_of(changed_layers(diff.weights), layer));
}

}  // namespace

std::string diff_html(const LoweringDiff& diff) {
  const std::string before = escape_html(file_name(diff.before));
  const std::string after = escape_html(file_name(diff.after));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; "
      "img-src data:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{} and {}: lowerings compared</title>\n<style>\n{}header {{ padding-bottom: "
      "1.2rem; }}\nsummary {{ padding: .5rem 0; cursor: pointer; }}\n</style>\n</head>\n<body>\n",
      before, after, page_parts::style());
  html += fmt::format(
      "<header><p class=\"kicker\">Lowerings compared</p><h1>{} &rarr; {}</h1><p id=\"written\">{} &rarr; "
      "{}. "
      "{}</p></header>\n<main>\n",
      before, after, escape_html(diff.before), escape_html(diff.after),
      diff.is_same() ? "No difference." : "What is not listed is the same in both.");
  html += section("numbers", "Figures",
                  {{""}, {"Before", as_number}, {"After", as_number}, {"Change", as_number}},
                  rows_of(diff.figures, figure_row));
  html += node_sections(diff) + file_sections(diff);
  html += section("not-compared", "Not compared", {{""}},
                  rows_of(diff.not_compared, [](const std::string& line) { return text_cell(line); }));
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace depute
