// Writes the report as text: the summary of `lower`, and the table of `explain`.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "depute/program/result.h"
#include "depute/tools/report.h"
#include "plan/plan.h"
#include "tools/report/boundaries.h"
#include "tools/report/colors.h"
#include "tools/report/repeats.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

// "method forward, node sort: ExecuTorch's runtime has no kernel for aten.sort.default (model.py:7)"
std::string cause_text(const Diagnostic& cause) {
  std::string text = fmt::format("{}: {}", cause.where, cause.message);
  return cause.source.empty() ? text : fmt::format("{} ({})", text, cause.source);
}

// Nodes without a kernel are listed in the table, so they are only counted here.
std::string refusals_text(const Report& report, const ExplainOptions& options) {
  std::string text;
  std::size_t missing = 0;
  for (const RefusalReport& refusal : report.refusals) {
    if (!options.node.empty() && refusal.node != options.node) continue;
    bool in_table = refusal.cause.code == no_kernel && !refusal.node.empty();
    missing += in_table ? 1 : 0;
    if (!in_table) text += fmt::format("refused: {}\n", printable(cause_text(refusal.cause)));
  }
  if (missing > 0) {
    text += fmt::format("refused: ExecuTorch's runtime has no kernel for {} {}\n", missing,
                        missing == 1 ? "node" : "nodes");
  }
  if (!text.empty()) text += "`depute lower` does not write this program\n";
  return text;
}

// "xnnpack0 and xnnpack1 are apart: %a -> %tan -> %b: one partition with both would need its own result". For
// a single node: what is said of its delegate.
std::string apart_text(const Report& report, const ExplainOptions& options) {
  std::set<Name, SymbolTextLess> asked;
  for (const NodeReport& node : report.nodes) {
    if (node.node == options.node) asked.insert(node.delegate);
  }
  std::vector<Split> told;
  std::copy_if(report.splits.pairs.begin(), report.splits.pairs.end(), std::back_inserter(told),
               [&](const Split& pair) {
                 return options.node.empty() || asked.contains(pair.first) || asked.contains(pair.second);
               });
  std::string text;
  for (const SplitRun& run : split_runs(told))
    text += fmt::format("{} {} {} are apart{}: {}\n", printable(run.first.str()),
                        run.pairs == 1 ? "and" : "to", printable(run.last.str()),
                        run.pairs == 1 ? "" : ", each from the next", printable(run.text));
  if (std::size_t more = report.splits.omitted; more > 0 && options.node.empty())
    text += fmt::format("and {} more {} of delegates\n", more, more == 1 ? "pair" : "pairs");
  return text;
}

// Left to ExecuTorch's kernels, what costs most first
//   nodes      MACs     bytes  rule
//       3    12.3 M    1.2 MB  xnnpack: op     aten.sort.default, 2 x aten.tan.default
std::string rules_table(const Report& report, const Colors& colors) {
  const std::vector<RefusedByRule> rules = group_by_rule(report);
  if (rules.empty()) return {};
  std::size_t width = 4;
  for (const RefusedByRule& rule : rules) width = std::max(width, printable(rule.rule).size());
  const auto row = [&](const auto& nodes, std::string_view macs, std::string_view bytes,
                       std::string_view rule, std::string_view ops) {
    return fmt::format("  {:>5}  {:>9}{}  {:<{}}  {}\n", nodes, macs,
                       report.page == nullptr ? "" : fmt::format("  {:>9}", bytes), printable(rule), width,
                       printable(ops));
  };
  std::string text =
      fmt::format("{}Left to ExecuTorch's kernels, what costs most first{}\n", colors.bold, colors.plain);
  text += row("nodes", "MACs", "bytes", "rule", "ops");
  for (const RefusedByRule& rule : rules) {
    text += row(rule.cost.nodes, amount_text(rule.cost.macs, ""), amount_text(rule.cost.bytes, "B"),
                rule.rule, kinds_text(rule.kinds));
  }
  return text;
}

// Prints the noisiest layer only, or all layers with `verbose`.
std::string quantized_text(const QuantizeResult& quantized, bool verbose) {
  if (quantized.layers.empty()) return {};
  std::uint64_t float_bytes = 0;
  std::uint64_t integer_bytes = 0;
  for (const QuantizedLayer& layer : quantized.layers) {
    float_bytes += layer.float_bytes;
    integer_bytes += layer.integer_bytes;
  }
  const auto layer_text = [](const QuantizedLayer& layer) {
    return fmt::format("{:.1f} dB in %{} ({})", layer.sqnr, printable(layer.node.str()),
                       printable(layer.module.empty() ? std::string(layer.weight.str()) : layer.module));
  };
  const QuantizedLayer& worst = *std::ranges::min_element(quantized.layers, {}, &QuantizedLayer::sqnr);
  std::string text = fmt::format("Quantized {} {}: {} -> {}, signal to noise at least {}\n",
                                 quantized.layers.size(), quantized.layers.size() == 1 ? "layer" : "layers",
                                 bytes_text(float_bytes), bytes_text(integer_bytes), layer_text(worst));
  if (verbose) {
    for (const QuantizedLayer& layer : quantized.layers)
      text += fmt::format("  {}: {}\n", layer.scheme, layer_text(layer));
  }
  const std::size_t shown = verbose ? quantized.left.size() : std::min<std::size_t>(quantized.left.size(), 3);
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("  not quantized: {}\n", printable(quantized.left[i]));
  if (const std::size_t more = quantized.left.size() - shown; more > 0)
    text += fmt::format("  and {} more that are not\n", more);
  return text;
}

// "of which 34 repeat another (xnnpack1 x 20, xnnpack3 x 16)".
std::string repeats_text(const Report& report) {
  const auto repeats = std::ranges::count_if(
      report.delegates, [](const DelegateReport& delegate) { return !delegate.repeats.empty(); });
  if (repeats == 0) return {};
  const std::string folds = Repeats(report).text();
  return fmt::format("of which {} {} another{}", repeats, repeats == 1 ? "repeats" : "repeat",
                     folds.empty() ? "" : " (" + folds + ")");
}

std::string boundaries_text(const Report& report) {
  if (!has_several_backends(report)) return {};
  std::string text = "Over the borders of delegates at each call:\n";
  for (const BoundaryReport& boundary : report.boundaries) {
    const std::string bytes = boundary.bytes ? bytes_text(*boundary.bytes) : "of unbounded size";
    text += fmt::format("  {} -> {}: {} {}, {}\n", boundary.from, boundary.to, boundary.tensors,
                        boundary.tensors == 1 ? "tensor" : "tensors", bytes);
  }
  return text;
}

}  // namespace

std::string summary_text(const Report& report, bool verbose, bool color) {
  const Colors colors(color);
  std::string text;
  if (!report.output.empty()) {
    text += fmt::format("{} -> {} ({})\n", printable(report.input), printable(report.output),
                        bytes_text(report.output_bytes));
  }
  for (const ExternalFile& file : report.external_files) {
    text += fmt::format("  with its data in {} ({})\n", printable(file.path), bytes_text(file.bytes));
  }
  text += fmt::format("Total delegated subgraphs: {}\n", report.delegates.size());
  if (const std::string repeats = repeats_text(report); !repeats.empty())
    text += fmt::format("  {}\n", repeats);
  text += fmt::format("{}Number of delegated nodes: {}{}\n", colors.green, report.delegated_nodes(),
                      colors.plain);
  text += fmt::format("Number of non-delegated nodes: {}\n", report.non_delegated_nodes());
  std::vector<Undelegated> leftovers = group_undelegated(report);
  std::size_t shown = verbose ? leftovers.size() : std::min<std::size_t>(leftovers.size(), 5);
  for (std::size_t i = 0; i < shown; ++i) {
    const Undelegated& group = leftovers[i];
    text += fmt::format(
        "  {}{} x {}: {}{}{}\n", colors.yellow, group.cost.nodes, printable(group.op),
        printable(group.reason), colors.plain,
        group.first_source.str().empty() ? "" : ", first at " + printable(group.first_source.str()));
  }
  if (std::size_t more = leftovers.size() - shown; more > 0) {
    text += fmt::format("  and {} more {}; `depute explain` lists every node\n", more,
                        more == 1 ? "kind" : "kinds");
  }
  text += boundaries_text(report);
  text += quantized_text(report.quantized, verbose);
  if (report.cache.found + report.cache.made > 0)
    text +=
        fmt::format("From the cache: {} of {}\n", report.cache.found, report.cache.found + report.cache.made);
  for (const std::string& note : report.notes)
    text += fmt::format("{}note:{} {}\n", colors.bold, colors.plain, note);
  double total = 0;
  std::string steps;
  for (const StepTime& time : report.times) {
    total += time.milliseconds;
    steps += fmt::format("{}{} {:.1f}", steps.empty() ? "" : ", ", time.step, time.milliseconds);
  }
  text += fmt::format("Time: {:.1f} ms ({})\n", total, steps);
  return text;
}

namespace {

// "  ... xnnpack1 x 31: 30 delegates, up to xnnpack31, repeat its 12 nodes".
std::string fold_text(const Report& report, const Repeats& repeats, Name first) {
  const auto delegate = std::ranges::find(report.delegates, first, &DelegateReport::name);
  const std::uint64_t nodes = delegate == report.delegates.end() ? 0 : delegate->nodes;
  return fmt::format("  ... {} x {}: {} delegates, up to {}, repeat its {} {}\n", printable(first.str()),
                     repeats.times(first), repeats.times(first) - 1, printable(repeats.last(first).str()),
                     nodes, nodes == 1 ? "node" : "nodes");
}

}  // namespace

std::string explain_text(const Report& report, const ExplainOptions& options) {
  const Colors colors(options.color);
  std::size_t name_width = 8;
  std::size_t op_width = 8;
  for (const NodeReport& node : report.nodes) {
    name_width = std::max(name_width, std::min<std::size_t>(node.node.str().size() + 1, 40));
    op_width = std::max(op_width, std::min<std::size_t>(node.op.str().size(), 48));
  }
  const Repeats repeats(report);
  std::unordered_set<Name> folded;
  std::string text;
  Name method;
  Name graph;
  for (const NodeReport& node : report.nodes) {
    if (!options.node.empty() && node.node != options.node) continue;
    const Name first = repeats.shown_as(node.delegate);
    if (first != node.delegate && options.node.empty()) {
      if (folded.insert(first).second) text += fold_text(report, repeats, first);
      continue;
    }
    if (node.method != method) text += fmt::format("method {}\n", node.method.str());
    if (node.graph != graph && !node.graph.empty()) text += fmt::format(" graph @{}\n", node.graph.str());
    method = node.method;
    graph = node.graph;
    bool delegated = !node.delegate.empty();
    std::string fate = delegated ? fmt::format("{} in {}", node.owner, node.delegate.str())
                                 : fmt::format("{} <- {}", node.owner, reasons_text(node));
    std::string source = printable(node.source.str());
    const char* color = delegated ? colors.green : node.owner == "portable" ? colors.yellow : colors.red;
    text += fmt::format("  {:<{}}  {:<{}}  {}{}{}{}\n", "%" + printable(node.node.str()), name_width,
                        printable(node.op.str()), op_width, color, printable(fate), colors.plain,
                        source.empty() ? "" : "  ; " + source);
  }
  std::size_t delegates = report.delegates.size();
  const std::string repeating = repeats_text(report);
  text += fmt::format("{} of {} nodes delegated ({:.1f} %), {} {}{}{}\n", report.delegated_nodes(),
                      report.nodes.size(), report.coverage(), delegates,
                      delegates == 1 ? "delegate" : "delegates", repeating.empty() ? "" : ", ", repeating);
  if (options.node.empty()) text += rules_table(report, colors);
  return text + apart_text(report, options) + refusals_text(report, options);
}

}  // namespace depute
