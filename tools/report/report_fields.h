// Members of the JSON report, for its writer and its reader (read_report.cpp), for the HTML page, which stores
// the nodes in columns, and for the JSON of `depute diff`. Keys are stable; see docs/cli.md.
#pragma once

#include <string>
#include <utility>

#include "depute/tools/report.h"
#include "support/fields.h"
#include "tools/report/lowering_facts.h"

namespace depute {

// A backend, and its verdict on a node.
void fields(auto& visit, std::pair<std::string, Verdict>& reason) {
  visit("backend", reason.first, "rule", reason.second.rule, "seen", reason.second.seen, "allowed",
        reason.second.allowed);
}

void fields(auto& visit, NodeReport& node) {
  visit("method", node.method, "name", node.node, "op", node.op, "source", node.source, "owner", node.owner);
  visit.null_if_empty("delegate", node.delegate);
  visit("reasons", node.reasons);
  visit.omit_empty("graph", node.graph);
}

void fields(auto& visit, DelegateReport& delegate) {
  visit("name", delegate.name, "method", delegate.method, "backend_id", delegate.backend_id, "nodes",
        delegate.nodes, "inputs", delegate.inputs, "outputs", delegate.outputs, "blob_bytes",
        delegate.blob_bytes, "data_bytes", delegate.data_bytes);
  visit.optional("boundary_bytes", delegate.boundary_bytes);
  visit.omit_empty("repeats", delegate.repeats, "info", delegate.info);
}

// The parts that only the writer knows.
struct ReportTotals {
  const Report& report;
};
void fields(FieldWriter& visit, const ReportTotals& totals);
void fields(FieldWriter& visit, const ExternalFile& file);
void fields(FieldWriter& visit, const BankUse& use);
void fields(FieldWriter& visit, const PlannedFacts& planned);
void fields(FieldWriter& visit, const BoundaryReport& boundary);
void fields(FieldWriter& visit, const Split& split);
void fields(FieldWriter& visit, const RefusalReport& refusal);
void fields(FieldWriter& visit, const QuantizedLayer& layer);
void fields(FieldWriter& visit, const AutoRules& chosen);
void fields(FieldWriter& visit, const IntegerTensor& tensor);
void fields(FieldWriter& visit, const Tap& tap);
void fields(FieldWriter& visit, const CacheUse& cache);
void fields(FieldWriter& visit, const LockChange& change);
JsonValue json_of(const std::vector<StepTime>& times);

// `nodes` is Report::nodes, or the columns of the page.
void report_fields(auto& visit, auto& report, auto&& nodes) {
  visit.derived("version", report_version);
  visit("input", report.input);
  visit.null_if_empty("output", report.output);
  visit("output_bytes", report.output_bytes);
  visit.derived("external_files", report.external_files, "totals", ReportTotals{report}, "planned",
                report.planned);
  visit("delegates", report.delegates);
  visit.derived("boundaries", report.boundaries, "apart", report.splits.pairs, "apart_not_told",
                report.splits.omitted);
  visit("nodes", std::forward<decltype(nodes)>(nodes));
  visit.derived("refusals", report.refusals, "quantized", report.quantized.layers, "not_quantized",
                report.quantized.left, "integer_io", report.quantized.integer_io, "taps", report.taps,
                "cache", report.cache, "notes", report.notes, "unmet", report.unmet, "lock_changes",
                report.lock_changes, "times_ms", report.times);
  if (report.quantized.chosen) visit.derived("chosen_rules", *report.quantized.chosen);
}

void fields(auto& visit, Report& report) {
  report_fields(visit, report, report.nodes);
}

// The page's data. page_facts.h describes the content, docs/cli.md the format.
std::string page_json(const Report& report);

}  // namespace depute
