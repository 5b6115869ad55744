#include "report/leftovers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace depute {
namespace {

// "xnnpack: dtype (i64; allowed: f32, f16)"
std::string reason_text(const std::string& backend, const Verdict& verdict) {
  std::string text = fmt::format("{}: {}", backend, verdict.rule);
  if (verdict.seen.empty() && verdict.allowed.empty()) return text;
  text += " (";
  text += verdict.seen;
  if (!verdict.allowed.empty())
    text += fmt::format("{}allowed: {}", verdict.seen.empty() ? "" : "; ", verdict.allowed);
  return text + ")";
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 10'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  if (bytes >= 10'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{} bytes", bytes);
}

std::string reasons_text(const NodeReport& node) {
  std::string text;
  for (const auto& [backend, verdict] : node.reasons) {
    if (!text.empty()) text += ", ";
    text += reason_text(backend, verdict);
  }
  return text.empty() ? "no backend was asked" : text;
}

std::vector<Leftovers> group_leftovers(const Report& report) {
  std::map<std::pair<std::string, std::string>, Leftovers> groups;
  for (const NodeReport& node : report.nodes) {
    if (!is_leftover(node)) continue;
    Leftovers& group = groups[{std::string(node.op.str()), reasons_text(node)}];
    if (group.count++ == 0) group.first_source = node.source;
  }
  std::vector<Leftovers> sorted;
  for (auto& [key, group] : groups) {
    group.op = key.first;
    group.reason = key.second;
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Leftovers::count);
  return sorted;
}

}  // namespace depute
