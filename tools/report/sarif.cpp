// Writes the report as SARIF 2.1.0, which code hosts show beside the model's lines. There is one result per
// undelegated source line, op and reason, per refusal, and per violated requirement.
//
//   %a = aten.sort.default, model.py:7, xnnpack: kernel
//     ->  {"ruleId": "xnnpack/kernel", "level": "note",
//          "message": {"text": "aten.sort.default (1 node) ..."},
//          "locations": [{"physicalLocation": {"artifactLocation": {"uri": "model.py"}, "region": ...}}]}
#include <fmt/format.h>

#include <set>

#include "depute/api.h"
#include "support/fields.h"
#include "tools/report/findings.h"

namespace depute {
namespace {

std::string own_version() {
  return fmt::format("{}.{}.{}", DEPUTE_VERSION_MAJOR, DEPUTE_VERSION_MINOR, DEPUTE_VERSION_PATCH);
}

// Encodes a path as a URI reference: other characters become %XX.
std::string uri(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

JsonValue result_json(const Finding& finding) {
  JsonValue place = {{"artifactLocation", {{"uri", uri(finding.file)}}}};
  if (finding.line > 0) place["region"] = {{"startLine", finding.line}};
  return {{"ruleId", finding.rule},
          {"level", finding.level == Finding::Level::Error ? "error" : "note"},
          {"message", {{"text", finding.text}}},
          {"locations", JsonValue::array({JsonValue{{"physicalLocation", std::move(place)}}})}};
}

}  // namespace

std::string report_sarif(const Report& report) {
  JsonValue results = JsonValue::array();
  std::set<std::string> ids;
  for (const Finding& finding : findings_of(report)) {
    ids.insert(finding.rule);
    results.push_back(result_json(finding));
  }
  JsonValue rules = JsonValue::array();
  for (const std::string& id : ids) rules.push_back({{"id", id}});
  const JsonValue driver = {{"name", "depute"}, {"version", own_version()}, {"rules", std::move(rules)}};
  const JsonValue run = {{"tool", {{"driver", driver}}}, {"results", std::move(results)}};
  return dump_json({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", JsonValue::array({run})}},
                   1);
}

}  // namespace depute
