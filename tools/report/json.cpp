// The parts of the JSON report that are written, but not read again.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "tools/report/report_fields.h"

namespace depute {

static constexpr std::pair<std::string_view, SplitReason> reason_words[] = {
    {"circle", SplitReason::Circle}, {"one-more", SplitReason::OneMore}, {"repeat", SplitReason::Repeat},
    {"limit", SplitReason::Limit},   {"mode", SplitReason::Mode},        {"backends", SplitReason::Backends},
    {"choice", SplitReason::Choice}};

void fields(FieldWriter& visit, const ReportTotals& totals) {
  const Report& report = totals.report;
  visit("delegated_subgraphs", report.delegates.size(), "delegated_nodes", report.delegated_nodes(),
        "non_delegated_nodes", report.non_delegated_nodes(), "coverage_percent", report.coverage(),
        "non_delegated_macs", report.non_delegated_macs(), "boundary_bytes", report.boundary_bytes());
}

void fields(FieldWriter& visit, const ExternalFile& file) {
  visit("path", file.path, "bytes", file.bytes);
}

void fields(FieldWriter& visit, const BankUse& use) {
  visit("method", use.method, "bank", use.bank, "memory_id", use.memory_id, "size", use.size, "used",
        use.used, "peak", use.peak, "traffic", use.traffic);
}

void fields(FieldWriter& visit, const PlannedFacts& planned) {
  visit("memory", planned.memory, "kernels", planned.kernels, "load_memory", planned.load_memory);
  visit.omit_empty("banks", planned.banks);
}

void fields(FieldWriter& visit, const BoundaryReport& boundary) {
  visit("from", boundary.from, "to", boundary.to, "tensors", boundary.tensors, "bytes", boundary.bytes);
}

void fields(FieldWriter& visit, const Split& split) {
  visit("method", split.method, "delegates", std::pair(split.first, split.second), "reason",
        word_in<SplitReason>(reason_words, split.reason), "path", split.path, "path_after", split.path_after,
        "text", split.text);
  visit.omit_empty("graph", split.graph);
}

void fields(FieldWriter& visit, const RefusalReport& refusal) {
  visit("method", refusal.method);
  visit.null_if_empty("node", refusal.node);
  visit("code", refusal.cause.code, "message", refusal.cause.message, "source", refusal.cause.source, "help",
        refusal.cause.hint);
  visit.omit_empty("graph", refusal.graph);
}

void fields(FieldWriter& visit, const QuantizedLayer& layer) {
  visit("method", layer.method, "node", layer.node, "weight", layer.weight, "module", layer.module, "scheme",
        layer.scheme, "float_bytes", layer.float_bytes, "integer_bytes", layer.integer_bytes);
  // JSON has no infinity: null if quantization is exact and has no noise.
  visit("sqnr_db", std::isfinite(layer.sqnr) ? std::optional(layer.sqnr) : std::nullopt);
}

static std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

static void fields(FieldWriter& visit, const AutoPoint& point) {
  visit("bytes", point.bytes, "sqnr_db", if_finite(point.sqnr), "is_measured", point.is_measured);
}

void fields(FieldWriter& visit, const AutoRules& chosen) {
  visit("rules", chosen.texts, "bytes", chosen.bytes, "float_bytes", chosen.float_bytes, "sqnr_db",
        if_finite(chosen.sqnr), "curve", chosen.curve);
}

void fields(FieldWriter& visit, const IntegerTensor& tensor) {
  visit("method", tensor.method, "kind", tensor.is_input ? "input" : "output", "index", tensor.index, "value",
        tensor.value, "dtype", name(tensor.dtype), "scale", tensor.scale, "zero_point", tensor.zero_point,
        "quant_min", tensor.quant_min, "quant_max", tensor.quant_max);
}

void fields(FieldWriter& visit, const Tap& tap) {
  visit("method", tap.method, "output", tap.output, "value", tap.value, "op", tap.op, "module",
        tap.module_path, "source", tap.source, "numbers", tap.numbers);
}

void fields(FieldWriter& visit, const CacheUse& cache) {
  visit("found", cache.found, "made", cache.made);
}

void fields(FieldWriter& visit, const LockChange& change) {
  visit("place", change.place, "text", change.text, "source", change.source);
}

JsonValue json_of(const std::vector<StepTime>& times) {
  JsonValue json = JsonValue::object();
  for (const StepTime& time : times) json[time.step] = time.milliseconds;
  return json;
}

std::string report_json(const Report& report) {
  return json_document(report);
}

namespace {

struct NodeOfReport {
  const Report& report;
  std::vector<NodeReport> nodes;
};

void fields(FieldWriter& visit, const NodeOfReport& part) {
  report_fields(visit, part.report, part.nodes);
}

}  // namespace

std::string explain_json(const Report& report, std::string_view node) {
  NodeOfReport part{report, {}};
  std::ranges::copy_if(report.nodes, std::back_inserter(part.nodes),
                       [&](const NodeReport& each) { return each.node.str() == node; });
  return json_document(part);
}

}  // namespace depute
