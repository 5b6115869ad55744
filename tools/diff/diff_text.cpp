// Writes the comparison of two lowerings as text.
//
//   Moved: 1 node
//     model.py:12 (features.relu)
//       %relu = aten.relu.default: xnnpack -> portable, xnnpack: pin (off=op:relu)
#include <fmt/format.h>

#include "depute/program/result.h"
#include "tools/diff/diff.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

std::string plural(std::size_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

std::string number_text(const DiffFigure& figure, double number) {
  return figure.is_percent ? fmt::format("{:.1f}%", number) : fmt::format("{:.0f}", number);
}

std::string figures_text(const LoweringDiff& diff) {
  std::size_t width = 0;
  for (const DiffFigure& figure : diff.figures) width = std::max(width, figure.name.size());
  std::string text;
  for (const DiffFigure& figure : diff.figures) {
    text +=
        fmt::format("  {:<{}}  {:>12}", printable(figure.name), width, number_text(figure, figure.before));
    if (!figure.is_same()) text += fmt::format(" -> {:>12}", number_text(figure, figure.after));
    text += "\n";
  }
  return text;
}

// Prints a title with the number of items, and one `line` for each of the first items.
template <typename T, typename Line>
std::string part(std::string_view title, const std::vector<T>& items, std::size_t top, const Line& line) {
  if (items.empty()) return {};
  std::string text = fmt::format("{}: {}\n", title, items.size());
  const std::size_t shown = top == 0 ? items.size() : std::min(items.size(), top);
  for (std::size_t i = 0; i < shown; ++i) text += line(items[i]);
  if (items.size() > shown) text += fmt::format("  and {} more; --top 0 lists all\n", items.size() - shown);
  return text;
}

std::string node_name(const NodeReport& node) {
  return printable(fmt::format("%{} = {}", node.node.str(), node.op.str()));
}

// Groups nodes by source line: the line comes first, its nodes below it.
template <typename T, typename Source, typename Line>
std::string part_by_line(std::string_view title, const std::vector<T>& nodes, std::size_t top,
                         const Source& source_of, const Line& line) {
  std::string last;
  bool is_first = true;
  return part(title, nodes, top, [&](const T& node) {
    const std::string source = source_of(node).str();
    std::string text;
    if (is_first || source != last)
      text = fmt::format("  {}\n", source.empty() ? "no line is known" : printable(source));
    is_first = false;
    last = source;
    return text + line(node);
  });
}

std::string moved_line(const DiffNode& node) {
  const std::string why = why_moved(node);
  return fmt::format("    {}: {} -> {}{}{}\n", node_name(node.after), printable(node.before.owner),
                     printable(node.after.owner), why.empty() ? "" : ", ", printable(why));
}

std::string reason_line(const DiffNode& node) {
  return fmt::format("    {}: {} -> {}\n", node_name(node.after), printable(reasons_text(node.before)),
                     printable(reasons_text(node.after)));
}

std::string parts_text(const DiffDelegate& delegate) {
  std::string text;
  for (const auto& [place, count] : delegate.parts) {
    text += text.empty() ? "" : ", ";
    text += place.empty() ? plural(count, delegate.is_new ? "new node" : "node") : printable(place);
    if (place.empty() && !delegate.is_new) text += " no longer there";
    if (!place.empty()) text += fmt::format(" {}", count);
  }
  return text;
}

std::string delegate_line(const DiffDelegate& delegate) {
  return fmt::format("  {} ({}): {} {}\n", printable(delegate.name), plural(delegate.nodes, "node"),
                     delegate.is_new ? "from" : "to", parts_text(delegate));
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

// A module with one or more weights that differ.
std::string layer_line(const DiffLayer& layer) {
  const DiffChange change = layer.bytes_before == 0  ? DiffChange::OnlyAfter
                            : layer.bytes_after == 0 ? DiffChange::OnlyBefore
                                                     : DiffChange::Changed;
  return fmt::format("  {}: {}\n", printable(layer.name),
                     change_text(change, layer.bytes_before, layer.bytes_after));
}

std::string payload_line(const DiffPayload& payload) {
  return fmt::format("  {} in {}: {}\n", printable(payload.backend_id), printable(payload.method),
                     change_text(payload.change, payload.bytes_before, payload.bytes_after));
}

std::string call_line(const DiffCall& call) {
  return fmt::format("  {} in {}: {} -> {}\n", printable(call.callee), printable(call.method), call.before,
                     call.after);
}

std::string only_line(const NodeReport& node) {
  return fmt::format("    {}: {}\n", node_name(node), printable(node.owner));
}

}  // namespace

std::string diff_text(const LoweringDiff& diff, std::size_t top) {
  std::string text = fmt::format("before: {}\nafter:  {}\n", printable(diff.before), printable(diff.after));
  text += figures_text(diff);
  auto source_of = [](const DiffNode& node) { return node.after.source; };
  auto own_source = [](const NodeReport& node) { return node.source; };
  text += part_by_line("Moved nodes, by line of the model", diff.moved, top, source_of, moved_line);
  text += part_by_line("Nodes left for another reason", diff.other_reason, top, source_of, reason_line);
  text += part_by_line("Nodes only before", diff.only_before, top, own_source, only_line);
  text += part_by_line("Nodes only after", diff.only_after, top, own_source, only_line);
  text += part("Delegates with other nodes", diff.delegates, top, delegate_line);
  text += part("Instructions", diff.calls, top, call_line);
  text += part("Payloads", diff.payloads, top, payload_line);
  text += part("Modules with other weights", changed_layers(diff.weights), top, layer_line);
  for (const std::string& line : diff.not_compared)
    text += fmt::format("Not compared: {}\n", printable(line));
  return text + (diff.is_same() ? "No difference\n" : "");
}

}  // namespace depute
