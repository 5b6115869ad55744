// The report as SARIF 2.1.0, which code hosts show beside the model's lines: a result for each source line,
// op and reason that was left to ExecuTorch's kernels, for each refusal, and for each requirement not met.
//
//   %a = aten.sort.default, model.py:7, xnnpack: kernel
//     ->  {"ruleId": "xnnpack/kernel", "level": "note", "message": {"text": "aten.sort.default (1 node)
//     ..."},
//          "locations": [{"physicalLocation": {"artifactLocation": {"uri": "model.py"}, "region": ...}}]}
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "depute/version.h"
#include "report/leftovers.h"
#include "report/report_json.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

std::string own_version() {
  return fmt::format("{}.{}.{}", DEPUTE_VERSION_MAJOR, DEPUTE_VERSION_MINOR, DEPUTE_VERSION_PATCH);
}

class SarifWriter {
 public:
  explicit SarifWriter(const Report& report) : report_(report) {
    if (report.refusals.empty()) return;
    for (const NodeReport& node : report.nodes)
      nodes_.emplace(std::tuple(node.method.id(), node.graph.id(), node.node.id()), &node);
  }

  std::string run() {
    for (const std::string& line : report_.unmet)
      add("require", "error", "not met: " + line, report_.input, 0);
    for (const LockChange& change : report_.lock_changes) {
      const bool has_place = !change.source.file.empty();
      add("lock", "error", fmt::format("{}{}{}", change.place, change.place.empty() ? "" : ": ", change.text),
          has_place ? std::string(change.source.file.str()) : report_.input, change.source.line);
    }
    for (const RefusalReport& refusal : report_.refusals) add_refusal(refusal);
    add_leftovers();
    Json rules = Json::array();
    for (const std::string& rule : rules_) rules.push_back({{"id", rule}});
    const Json driver = {{"name", "depute"}, {"version", own_version()}, {"rules", std::move(rules)}};
    const Json run = {{"tool", {{"driver", driver}}}, {"results", std::move(results_)}};
    return dump_json({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({run})}},
                     1);
  }

 private:
  void add(const std::string& rule, const char* level, const std::string& text, const std::string& file,
           std::int32_t line) {
    rules_.insert(rule);
    Json place = {{"artifactLocation", {{"uri", uri(file)}}}};
    if (line > 0) place["region"] = {{"startLine", line}};
    results_.push_back({{"ruleId", rule},
                        {"level", level},
                        {"message", {{"text", text}}},
                        {"locations", Json::array({Json{{"physicalLocation", std::move(place)}}})}});
  }

  // A path as a URI reference: what is not allowed there becomes %XX.
  static std::string uri(std::string_view path) {
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

  const NodeReport* node_of(const RefusalReport& refusal) const {
    const auto found = nodes_.find({refusal.method.id(), refusal.graph.id(), refusal.node.id()});
    return found == nodes_.end() ? nullptr : found->second;
  }

  void add_refusal(const RefusalReport& refusal) {
    const NodeReport* node = refusal.node.empty() ? nullptr : node_of(refusal);
    const bool has_place = node != nullptr && !node->source.file.empty();
    add(refusal.cause.code, "error", fmt::format("{}: {}", refusal.cause.where, refusal.cause.message),
        has_place ? std::string(node->source.file.str()) : report_.input, has_place ? node->source.line : 0);
  }

  void add_leftovers() {
    std::map<std::tuple<std::string, std::int32_t, std::string, std::string>,
             std::pair<std::size_t, std::string>>
        groups;
    for (const NodeReport& node : report_.nodes) {
      if (!is_leftover(node)) continue;
      const auto& [backend, verdict] = node.reasons.front();
      auto& group = groups[{std::string(node.source.file.str()), node.source.line, std::string(node.op.str()),
                            reasons_text(node)}];
      ++group.first;
      group.second = backend + "/" + verdict.rule;
    }
    for (const auto& [key, group] : groups) {
      const auto& [file, line, op, reason] = key;
      const std::string text = fmt::format("{} ({} {}) stays on ExecuTorch's kernels: {}", op, group.first,
                                           group.first == 1 ? "node" : "nodes", reason);
      add(group.second, "note", text, file.empty() ? report_.input : file, line);
    }
  }

  const Report& report_;
  // By the interned names of method, body and node; only where something is refused.
  std::map<std::tuple<const void*, const void*, const void*>, const NodeReport*> nodes_;
  std::set<std::string> rules_;
  Json results_ = Json::array();
};

}  // namespace

std::string report_sarif(const Report& report) {
  return SarifWriter(report).run();
}

}  // namespace depute
