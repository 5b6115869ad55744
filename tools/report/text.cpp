// Writes the report as text: the summary of `lower`, and the table of `explain`.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "depute/program/result.h"
#include "depute/tools/report.h"
#include "plan/plan.h"
#include "support/number_text.h"
#include "tools/document/document.h"
#include "tools/report/boundaries.h"
#include "tools/report/repeats.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

// "method forward, node sort: ExecuTorch's runtime has no kernel for aten.sort.default (model.py:7)"
std::string cause_text(const Diagnostic& cause) {
  const std::string text = fmt::format("{}: {}", cause.where, cause.message);
  return cause.source.empty() ? text : fmt::format("{} ({})", text, cause.source);
}

// Nodes without a kernel are listed in the table, so they are only counted here.
void add_refusals(const Report& report, const ExplainOptions& options, doc::Document& document) {
  const std::size_t before = document.blocks.size();
  std::size_t missing = 0;
  for (const RefusalReport& refusal : report.refusals) {
    if (!options.node.empty() && refusal.node != options.node) continue;
    const bool is_in_table = refusal.cause.code == no_kernel && !refusal.node.empty();
    missing += is_in_table ? 1 : 0;
    if (!is_in_table) document.print("refused: {}", cause_text(refusal.cause));
  }
  if (missing > 0)
    document.print("refused: ExecuTorch's runtime has no kernel for {}", plural(missing, "node"));
  if (document.blocks.size() > before) document.line("`depute lower` does not write this program");
}

// "xnnpack0 and xnnpack1 are apart: %a -> %tan -> %b: one partition with both would need its own result". For
// a single node: the splits of its delegate.
void add_splits(const Report& report, const ExplainOptions& options, doc::Document& document) {
  std::set<Name, SymbolTextLess> asked;
  for (const NodeReport& node : report.nodes) {
    if (node.node == options.node) asked.insert(node.delegate);
  }
  std::vector<Split> splits;
  std::ranges::copy_if(report.splits.pairs, std::back_inserter(splits), [&](const Split& pair) {
    return options.node.empty() || asked.contains(pair.first) || asked.contains(pair.second);
  });
  for (const SplitRun& run : split_runs(splits))
    document.print("{} {} {} are apart{}: {}", run.first.str(), run.pairs == 1 ? "and" : "to", run.last.str(),
                   run.pairs == 1 ? "" : ", each from the one after it", run.text);
  if (const std::size_t more = report.splits.omitted; more > 0 && options.node.empty())
    document.print("and {} more {} of delegates", more, more == 1 ? "pair" : "pairs");
}

// Left to ExecuTorch's kernels, what costs most first
//   nodes      MACs     bytes  rule
//       3    12.3 M    1.2 MB  xnnpack: op     aten.sort.default, 2 x aten.tan.default
void add_rules(const Report& report, doc::Document& document) {
  const std::vector<RefusedByRule> rules = group_by_rule(report);
  if (rules.empty()) return;
  document.line(doc::Span{"Left to ExecuTorch's kernels, what costs most first", doc::Style::Strong});
  doc::Column bytes = doc::number("bytes", 9);
  bytes.is_in_text = report.page != nullptr;
  document.add(doc::Table{
      .columns = {doc::number("nodes", 5), doc::number("MACs", 9), bytes, {"rule"}, {"ops"}},
      .rows = doc::rows_of(rules,
                           [](const RefusedByRule& rule) {
                             return doc::Row{
                                 {std::to_string(rule.cost.nodes), amount_text(rule.cost.macs, ""),
                                  amount_text(rule.cost.bytes, "B"), rule.rule, kinds_text(rule.kinds)}};
                           }),
      .has_names = true});
}

// Prints the noisiest layer only, or all layers with `verbose`.
void add_quantized(const QuantizeResult& quantized, bool verbose, doc::Document& document) {
  if (quantized.chosen) {
    const AutoRules& chosen = *quantized.chosen;
    document.print("Chosen for {} of weights instead of {}, and {:.1f} dB of signal to noise in the outputs:",
                   bytes_text(chosen.bytes), bytes_text(chosen.float_bytes), chosen.sqnr);
    for (const std::string& text : chosen.texts) document.print("  --quantize {}", text);
  }
  if (quantized.layers.empty()) return;
  std::uint64_t float_bytes = 0;
  std::uint64_t integer_bytes = 0;
  for (const QuantizedLayer& layer : quantized.layers) {
    float_bytes += layer.float_bytes;
    integer_bytes += layer.integer_bytes;
  }
  const auto layer_text = [](const QuantizedLayer& layer) {
    return fmt::format("{:.1f} dB in %{} ({})", layer.sqnr, layer.node.str(),
                       layer.module.empty() ? std::string(layer.weight.str()) : layer.module);
  };
  const QuantizedLayer& worst = *std::ranges::min_element(quantized.layers, {}, &QuantizedLayer::sqnr);
  document.print("Quantized {}: {} -> {}, signal to noise at least {}",
                 plural(quantized.layers.size(), "layer"), bytes_text(float_bytes), bytes_text(integer_bytes),
                 layer_text(worst));
  if (verbose) {
    for (const QuantizedLayer& layer : quantized.layers)
      document.print("  {}: {}", layer.scheme, layer_text(layer));
  }
  const std::size_t shown = shown_of(quantized.left.size(), verbose ? 0 : 3);
  for (std::size_t i = 0; i < shown; ++i) document.print("  not quantized: {}", quantized.left[i]);
  if (const std::size_t more = quantized.left.size() - shown; more > 0)
    document.print("  and {} more that are not", more);
}

void add_integer_io(const QuantizeResult& quantized, doc::Document& document) {
  for (const IntegerTensor& tensor : quantized.integer_io)
    document.print("{} {} of {} is {}, scale {}, zero point {}", tensor.is_input ? "Input" : "Output",
                   tensor.index, tensor.method.str(), name(tensor.dtype), tensor.scale, tensor.zero_point);
}

// "Output 3 of forward, aten.linear.default at model.py:12 (fc): tap of %linear_1: min, max".
void add_taps(const Report& report, doc::Document& document) {
  for (const Tap& tap : report.taps)
    document.print("Output {} of {}, {}{}{}: {}", tap.output, tap.method.str(), tap.op.str(),
                   tap.source.empty() ? "" : " at ", tap.source, str(tap));
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

void add_boundaries(const Report& report, doc::Document& document) {
  if (!has_several_backends(report)) return;
  document.line("Over the borders of delegates at each call:");
  for (const BoundaryReport& boundary : report.boundaries)
    document.print("  {} -> {}: {}, {}", boundary.from, boundary.to, plural(boundary.tensors, "tensor"),
                   boundary.bytes ? bytes_text(*boundary.bytes) : "of unbounded size");
}

void add_undelegated(const Report& report, bool verbose, doc::Document& document) {
  const std::vector<Undelegated> groups = group_undelegated(report);
  const std::size_t shown = shown_of(groups.size(), verbose ? 0 : 5);
  for (std::size_t i = 0; i < shown; ++i) {
    const Undelegated& group = groups[i];
    const std::string source = group.first_source.str();
    document.line(
        {{"  "},
         {fmt::format("{} x {}: {}", group.cost.nodes, group.op, group.reason), doc::Style::Warning},
         {source.empty() ? "" : ", first at " + source}});
  }
  if (const std::size_t more = groups.size() - shown; more > 0)
    document.print("  and {} more {}; `depute explain` lists every node", more, more == 1 ? "kind" : "kinds");
}

void add_times(const std::vector<StepTime>& times, doc::Document& document) {
  double total = 0;
  std::string steps;
  for (const StepTime& time : times) {
    total += time.milliseconds;
    steps += fmt::format("{}{} {:.1f}", steps.empty() ? "" : ", ", time.step, time.milliseconds);
  }
  document.print("Time: {:.1f} ms ({})", total, steps);
}

void add_banks(const Report& report, doc::Document& document) {
  if (!report.planned || report.planned->banks.empty()) return;
  doc::Table table{.columns = {{"memory bank"},
                               doc::number("used"),
                               doc::number("of"),
                               doc::number("peak"),
                               doc::number("traffic")},
                   .has_names = true};
  for (const BankUse& use : report.planned->banks) {
    std::uint64_t traffic = 0;
    for (const BankUse& other : report.planned->banks)
      traffic += other.method == use.method ? other.traffic : 0;
    table.rows.push_back(
        {{fmt::format("{} of {}", use.bank, use.method), std::to_string(use.used), std::to_string(use.size),
          std::to_string(use.peak), fmt::format("{:.1f}%", percent(use.traffic, traffic))}});
  }
  document.add(std::move(table));
}

doc::Document summary(const Report& report, bool verbose) {
  doc::Document document;
  if (!report.output.empty())
    document.print("{} -> {} ({})", report.input, report.output, bytes_text(report.output_bytes));
  for (const ExternalFile& file : report.external_files)
    document.print("  with its data in {} ({})", file.path, bytes_text(file.bytes));
  document.print("Total delegated subgraphs: {}", report.delegates.size());
  if (const std::string repeats = repeats_text(report); !repeats.empty()) document.print("  {}", repeats);
  document.line(
      doc::Span{fmt::format("Number of delegated nodes: {}", report.delegated_nodes()), doc::Style::Good});
  document.print("Number of non-delegated nodes: {}", report.non_delegated_nodes());
  add_undelegated(report, verbose, document);
  add_boundaries(report, document);
  add_quantized(report.quantized, verbose, document);
  add_integer_io(report.quantized, document);
  add_taps(report, document);
  add_banks(report, document);
  const std::uint64_t made = report.cache.found + report.cache.made;
  if (made > 0) document.print("From the cache: {} of {}", report.cache.found, made);
  for (const std::string& note : report.notes) document.line({{"note:", doc::Style::Strong}, {" " + note}});
  add_times(report.times, document);
  return document;
}

// "  ... xnnpack1 x 31: 30 delegates, up to xnnpack31, repeat its 12 nodes".
std::string fold_text(const Report& report, const Repeats& repeats, Name first) {
  const auto delegate = std::ranges::find(report.delegates, first, &DelegateReport::name);
  const std::uint64_t nodes = delegate == report.delegates.end() ? 0 : delegate->nodes;
  return fmt::format("  ... {} x {}: {} delegates, up to {}, repeat its {}", first.str(),
                     repeats.times(first), repeats.times(first) - 1, repeats.last(first).str(),
                     plural(nodes, "node"));
}

doc::Row node_row(const NodeReport& node) {
  const bool is_delegated = !node.delegate.empty();
  const std::string fate = is_delegated ? fmt::format("{} in {}", node.owner, node.delegate.str())
                                        : fmt::format("{} <- {}", node.owner, reasons_text(node));
  const doc::Style style = is_delegated               ? doc::Style::Good
                           : node.owner == "portable" ? doc::Style::Warning
                                                      : doc::Style::Bad;
  const std::string source = node.source.str();
  return {{fmt::format("  %{}", node.node.str()), std::string(node.op.str()),
           doc::Text{{fate, style}, {source.empty() ? "" : "  ; " + source}}}};
}

// One row per node. Widths are those of all nodes, so that a single node is printed as in the whole table.
doc::Table node_table(const Report& report, const ExplainOptions& options) {
  doc::Column name{.name = "node", .min_width = 10, .max_width = 42};
  doc::Column op{.name = "op", .min_width = 8, .max_width = 48};
  for (const NodeReport& node : report.nodes) {
    name.min_width = std::max(name.min_width, std::min(node.node.str().size() + 3, name.max_width));
    op.min_width = std::max(op.min_width, std::min(node.op.str().size(), op.max_width));
  }
  doc::Table table{.columns = {name, op, {"owner"}}, .indent = 0};
  const auto line = [&](std::string text) { table.rows.push_back({.line = std::move(text)}); };
  const Repeats repeats(report);
  std::unordered_set<Name> folded;
  Name method;
  Name graph;
  for (const NodeReport& node : report.nodes) {
    if (!options.node.empty() && node.node != options.node) continue;
    const Name first = repeats.shown_as(node.delegate);
    if (first != node.delegate && options.node.empty()) {
      if (folded.insert(first).second) line(fold_text(report, repeats, first));
      continue;
    }
    if (node.method != method) line(fmt::format("method {}", node.method.str()));
    if (node.graph != graph && !node.graph.empty()) line(fmt::format(" graph @{}", node.graph.str()));
    method = node.method;
    graph = node.graph;
    table.rows.push_back(node_row(node));
  }
  return table;
}

doc::Document explanation(const Report& report, const ExplainOptions& options) {
  doc::Document document;
  document.add(node_table(report, options));
  const std::string repeats = repeats_text(report);
  document.print("{} of {} nodes delegated ({:.1f} %), {}{}{}", report.delegated_nodes(), report.nodes.size(),
                 report.coverage(), plural(report.delegates.size(), "delegate"), repeats.empty() ? "" : ", ",
                 repeats);
  if (options.node.empty()) add_rules(report, document);
  add_splits(report, options, document);
  add_refusals(report, options, document);
  return document;
}

}  // namespace

std::string summary_text(const Report& report, bool verbose, bool color) {
  return render_text(summary(report, verbose), {.has_color = color});
}

std::string explain_text(const Report& report, const ExplainOptions& options) {
  return render_text(explanation(report, options), {.has_color = options.color});
}

}  // namespace depute
