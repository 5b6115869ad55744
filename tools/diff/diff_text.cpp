// Writes the comparison of two lowerings as text and as a page.
//
//   Moved nodes, by line of the model: 1
//     model.py:12 (features.relu)
//       %relu = aten.relu.default: xnnpack -> portable, xnnpack: pin (off=op:relu)
#include <fmt/format.h>

#include "support/number_text.h"
#include "tools/diff/diff.h"
#include "tools/document/document.h"
#include "tools/report/page_parts.h"
#include "tools/report/report_fields.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

std::string figure_text(const DiffFigure& figure, double number) {
  return figure.is_percent ? fmt::format("{:.1f}%", number) : fmt::format("{:.0f}", number);
}

doc::Table figure_table(const LoweringDiff& diff) {
  std::size_t width = 0;
  for (const DiffFigure& figure : diff.figures) width = std::max(width, figure.name.size());
  const auto row = [&](const DiffFigure& figure) {
    const std::string before = figure_text(figure, figure.before);
    const std::string after = figure_text(figure, figure.after);
    std::string line = fmt::format("{:<{}}  {:>12}", figure.name, width, before);
    if (!figure.is_same()) line += fmt::format(" -> {:>12}", after);
    std::string change = figure.is_same() ? "" : figure_text(figure, figure.after - figure.before);
    if (figure.after > figure.before) change.insert(0, "+");
    return doc::Row{.cells = {figure.name, before, after, change}, .line = line};
  };
  return {.page_title = "Figures",
          .id = "numbers",
          .columns = {{""}, doc::number("Before"), doc::number("After"), doc::number("Change")},
          .rows = doc::rows_of(diff.figures, row)};
}

doc::Cell owner_cell(const NodeReport& node) {
  const bool is_own_color = node.owner == "no-kernel" || node.owner == "refused";
  return {node.owner, "",
          is_delegated(node) ? "--backend-0"
          : is_own_color     ? "--" + node.owner
                             : "--portable"};
}

doc::Row node_row(const NodeReport& node, std::vector<doc::Cell> cells, std::string_view line) {
  cells.insert(cells.begin(), {doc::code(node.source.str()),
                               {doc::code(fmt::format("%{}", node.node.str())), std::string(node.op.str())}});
  return {.cells = std::move(cells),
          .line = fmt::format("%{} = {}: {}", node.node.str(), node.op.str(), line)};
}

doc::Row moved_row(const DiffNode& node) {
  const std::string why = why_moved(node);
  return node_row(
      node.after, {owner_cell(node.before), owner_cell(node.after), why},
      fmt::format("{} -> {}{}{}", node.before.owner, node.after.owner, why.empty() ? "" : ", ", why));
}

doc::Row reason_row(const DiffNode& node) {
  const std::string before = reasons_text(node.before);
  const std::string after = reasons_text(node.after);
  return node_row(node.after, {before, after}, fmt::format("{} -> {}", before, after));
}

doc::Row only_row(const NodeReport& node) {
  return node_row(node, {owner_cell(node)}, node.owner);
}

doc::Table node_table(std::string id, std::string title, std::vector<doc::Column> columns,
                      std::vector<doc::Row> rows) {
  columns.insert(columns.begin(), {{"Line"}, {"Node"}});
  return {.title = std::move(title),
          .id = std::move(id),
          .columns = std::move(columns),
          .rows = std::move(rows),
          .is_grouped = true};
}

std::string parts_text(const DiffDelegate& delegate) {
  std::string text;
  for (const auto& [place, count] : delegate.parts) {
    text += text.empty() ? (delegate.is_new ? "from " : "to ") : ", ";
    text += place.empty() ? plural(count, delegate.is_new ? "new node" : "node")
                          : fmt::format("{} {}", place, count);
    if (place.empty() && !delegate.is_new) text += " no longer there";
  }
  return text;
}

doc::Row delegate_row(const DiffDelegate& delegate) {
  const std::string parts = parts_text(delegate);
  return {.cells = {doc::code(delegate.name), std::to_string(delegate.nodes), parts},
          .line = fmt::format("{} ({}): {}", delegate.name, plural(delegate.nodes, "node"), parts)};
}

doc::Row call_row(const DiffCall& call) {
  return {.cells = {doc::code(call.callee), doc::code(call.method), std::to_string(call.before),
                    std::to_string(call.after)},
          .line = fmt::format("{} in {}: {} -> {}", call.callee, call.method, call.before, call.after)};
}

std::string change_text(DiffChange change, std::uint64_t before, std::uint64_t after) {
  switch (change) {
    case DiffChange::Changed:
      return before == after ? fmt::format("{} bytes, other content", before)
                             : fmt::format("{} -> {} bytes", before, after);
    case DiffChange::OnlyBefore:
      return fmt::format("only before, {} bytes", before);
    case DiffChange::OnlyAfter:
      return fmt::format("only after, {} bytes", after);
  }
  return {};
}

doc::Row payload_row(const DiffPayload& payload) {
  return {.cells = {doc::code(payload.backend_id), doc::code(payload.method), name(payload.change),
                    std::to_string(payload.bytes_before), std::to_string(payload.bytes_after)},
          .line = fmt::format("{} in {}: {}", payload.backend_id, payload.method,
                              change_text(payload.change, payload.bytes_before, payload.bytes_after))};
}

// A module with one or more weights that differ.
doc::Row layer_row(const DiffLayer& layer) {
  const DiffChange change = layer.bytes_before == 0  ? DiffChange::OnlyAfter
                            : layer.bytes_after == 0 ? DiffChange::OnlyBefore
                                                     : DiffChange::Changed;
  return {
      .cells = {doc::code(layer.name), std::to_string(layer.weights), std::to_string(layer.bytes_before),
                std::to_string(layer.bytes_after)},
      .line = fmt::format("{}: {}", layer.name, change_text(change, layer.bytes_before, layer.bytes_after))};
}

void add_node_tables(const LoweringDiff& diff, doc::Document& document) {
  document.add(node_table("moved", "Moved nodes, by line of the model", {{"Before"}, {"After"}, {"Why"}},
                          doc::rows_of(diff.moved, moved_row)));
  document.add(node_table("other-reason", "Nodes left for another reason", {{"Before"}, {"After"}},
                          doc::rows_of(diff.other_reason, reason_row)));
  document.add(
      node_table("only-before", "Nodes only before", {{"Owner"}}, doc::rows_of(diff.only_before, only_row)));
  document.add(
      node_table("only-after", "Nodes only after", {{"Owner"}}, doc::rows_of(diff.only_after, only_row)));
}

void add_file_tables(const LoweringDiff& diff, doc::Document& document) {
  const doc::Column before = doc::number("Bytes before");
  const doc::Column after = doc::number("Bytes after");
  document.add(doc::Table{.title = "Delegates with other nodes",
                          .id = "delegates",
                          .columns = {{"Delegate"}, doc::number("Nodes"), {"Where they are"}},
                          .rows = doc::rows_of(diff.delegates, delegate_row)});
  document.add(doc::Table{.title = "Instructions",
                          .id = "instructions",
                          .columns = {{"Calls"}, {"Method"}, doc::number("Before"), doc::number("After")},
                          .rows = doc::rows_of(diff.calls, call_row)});
  document.add(doc::Table{.title = "Payloads",
                          .id = "payloads",
                          .columns = {{"Backend"}, {"Method"}, {"Change"}, before, after},
                          .rows = doc::rows_of(diff.payloads, payload_row)});
  document.add(doc::Table{.title = "Modules with other weights",
                          .id = "weights",
                          .columns = {{"Module"}, doc::number("Weights"), before, after},
                          .rows = doc::rows_of(changed_layers(diff.weights), layer_row)});
}

doc::Document diff_document(const LoweringDiff& diff) {
  doc::Document document{
      .title = fmt::format("{} → {}", file_name(diff.before), file_name(diff.after)),
      .kicker = "Lowerings compared",
      .lead = fmt::format("{} → {}. {}", diff.before, diff.after,
                          diff.is_same() ? "No difference." : "What is not listed is the same in both.")};
  document.blocks = {doc::Line{fmt::format("before: {}", diff.before), false},
                     doc::Line{fmt::format("after:  {}", diff.after), false}};
  document.add(figure_table(diff));
  add_node_tables(diff, document);
  add_file_tables(diff, document);
  const auto line = [](const std::string& text) {
    return doc::Row{{text}, fmt::format("Not compared: {}", text)};
  };
  document.add(doc::Table{.page_title = "Not compared",
                          .id = "not-compared",
                          .columns = {{""}},
                          .rows = doc::rows_of(diff.not_compared, line),
                          .indent = 0});
  if (diff.is_same()) document.blocks.emplace_back(doc::Line{"No difference", false});
  return document;
}

}  // namespace

std::string diff_text(const LoweringDiff& diff, std::size_t top) {
  return render_text(diff_document(diff), {.top = top});
}

std::string diff_html(const LoweringDiff& diff) {
  return render_html(diff_document(diff), page_parts::style());
}

}  // namespace depute
