// The report as JSON, for CI and tools. Keys are stable; see docs/cli.md.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tools/report/lowering_facts.h"
#include "tools/report/report_json.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

// Null if there is no bound.
Json number_or_null(const std::optional<std::uint64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json delegate_json(const DelegateReport& delegate) {
  Json json = {{"name", delegate.name.str()},
               {"method", delegate.method.str()},
               {"backend_id", delegate.backend_id},
               {"nodes", delegate.nodes},
               {"inputs", delegate.inputs},
               {"outputs", delegate.outputs},
               {"blob_bytes", delegate.blob_bytes},
               {"data_bytes", delegate.data_bytes},
               {"boundary_bytes", number_or_null(delegate.boundary_bytes)}};
  if (!delegate.repeats.empty()) json["repeats"] = delegate.repeats.str();
  if (!delegate.info.empty()) json["info"] = delegate.info;
  return json;
}

std::string_view reason_word(SplitReason reason) {
  switch (reason) {
    case SplitReason::Circle:
      return "circle";
    case SplitReason::OneMore:
      return "one-more";
    case SplitReason::Repeat:
      return "repeat";
    case SplitReason::Limit:
      return "limit";
    case SplitReason::Mode:
      return "mode";
    case SplitReason::Backends:
      return "backends";
    case SplitReason::Choice:
      return "choice";
  }
  std::unreachable();
}

Json names_json(const std::vector<Name>& names) {
  Json json = Json::array();
  for (Name name : names) json.push_back(name.str());
  return json;
}

Json apart_json(const Split& pair) {
  Json json = {{"method", pair.method.str()},
               {"delegates", {pair.first.str(), pair.second.str()}},
               {"reason", reason_word(pair.reason)},
               {"path", names_json(pair.path)},
               {"path_after", names_json(pair.path_after)},
               {"text", pair.text}};
  if (!pair.graph.empty()) json["graph"] = pair.graph.str();
  return json;
}

Json refusal_json(const RefusalReport& refusal) {
  Json json = {{"method", refusal.method.str()},
               {"node", refusal.node.empty() ? Json(nullptr) : Json(refusal.node.str())},
               {"code", refusal.cause.code},
               {"message", refusal.cause.message},
               {"source", refusal.cause.source},
               {"help", refusal.cause.hint}};
  if (!refusal.graph.empty()) json["graph"] = refusal.graph.str();
  return json;
}

// JSON has no infinity: null if quantization is exact and has no noise.
Json quantized_json(const QuantizedLayer& layer) {
  return {{"method", layer.method.str()},
          {"node", layer.node.str()},
          {"weight", layer.weight.str()},
          {"module", layer.module},
          {"scheme", layer.scheme},
          {"float_bytes", layer.float_bytes},
          {"integer_bytes", layer.integer_bytes},
          {"sqnr_db", std::isfinite(layer.sqnr) ? Json(layer.sqnr) : Json(nullptr)}};
}

}  // namespace

nlohmann::ordered_json reason_json(const std::string& backend, const Verdict& verdict) {
  return {{"backend", backend}, {"rule", verdict.rule}, {"seen", verdict.seen}, {"allowed", verdict.allowed}};
}

nlohmann::ordered_json node_report_json(const NodeReport& node) {
  Json json = {{"method", node.method.str()},
               {"name", node.node.str()},
               {"op", node.op.str()},
               {"source", node.source.str()},
               {"owner", node.owner},
               {"delegate", node.delegate.empty() ? Json(nullptr) : Json(node.delegate.str())}};
  Json reasons = Json::array();
  for (const auto& [backend, verdict] : node.reasons) reasons.push_back(reason_json(backend, verdict));
  json["reasons"] = std::move(reasons);
  if (!node.graph.empty()) json["graph"] = node.graph.str();
  return json;
}

nlohmann::ordered_json json_without_nodes(const Report& report) {
  Json json;
  json["version"] = report_version;
  json["input"] = report.input;
  json["output"] = report.output.empty() ? Json(nullptr) : Json(report.output);
  json["output_bytes"] = report.output_bytes;
  json["external_files"] = Json::array();
  for (const ExternalFile& file : report.external_files) {
    json["external_files"].push_back({{"path", file.path}, {"bytes", file.bytes}});
  }
  json["totals"] = {{"delegated_subgraphs", report.delegates.size()},
                    {"delegated_nodes", report.delegated_nodes()},
                    {"non_delegated_nodes", report.non_delegated_nodes()},
                    {"coverage_percent", report.coverage()},
                    {"non_delegated_macs", number_or_null(report.non_delegated_macs())},
                    {"boundary_bytes", number_or_null(report.boundary_bytes())}};
  json["planned"] = report.planned
                        ? Json{{"memory", report.planned->memory}, {"kernels", report.planned->kernels}}
                        : Json(nullptr);
  json["delegates"] = Json::array();
  for (const DelegateReport& delegate : report.delegates)
    json["delegates"].push_back(delegate_json(delegate));
  json["boundaries"] = Json::array();
  for (const BoundaryReport& boundary : report.boundaries) {
    json["boundaries"].push_back({{"from", boundary.from},
                                  {"to", boundary.to},
                                  {"tensors", boundary.tensors},
                                  {"bytes", number_or_null(boundary.bytes)}});
  }
  json["apart"] = Json::array();
  for (const Split& pair : report.splits.pairs) json["apart"].push_back(apart_json(pair));
  json["apart_not_told"] = report.splits.omitted;
  json["nodes"] = nullptr;
  json["refusals"] = Json::array();
  for (const RefusalReport& refusal : report.refusals) json["refusals"].push_back(refusal_json(refusal));
  json["quantized"] = Json::array();
  for (const QuantizedLayer& layer : report.quantized.layers)
    json["quantized"].push_back(quantized_json(layer));
  json["not_quantized"] = report.quantized.left;
  json["cache"] = {{"found", report.cache.found}, {"made", report.cache.made}};
  json["notes"] = report.notes;
  json["unmet"] = report.unmet;
  json["lock_changes"] = Json::array();
  for (const LockChange& change : report.lock_changes) {
    json["lock_changes"].push_back(
        {{"place", change.place}, {"text", change.text}, {"source", change.source.str()}});
  }
  json["times_ms"] = Json::object();
  for (const StepTime& time : report.times) json["times_ms"][time.step] = time.milliseconds;
  return json;
}

std::string dump_json(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_json(const Report& report) {
  Json json = json_without_nodes(report);
  Json nodes = Json::array();
  for (const NodeReport& node : report.nodes) nodes.push_back(node_report_json(node));
  json["nodes"] = std::move(nodes);
  return dump_json(json, 1);
}

}  // namespace depute
