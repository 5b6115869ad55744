#include "plan/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "support/number_text.h"

namespace depute {
namespace {

constexpr std::size_t max_places = 3;
constexpr std::string_view general_hint =
    "choose a backend that supports them, or replace them in the model; `depute explain` shows every node";
constexpr std::string_view hint_of_unknown =
    "choose a backend that supports them, name the application's kernels with --kernels FILE, or "
    "replace them "
    "in the model; `depute explain` shows every node";

// True for an op that only its library defines.
bool is_unknown(const Refusal& refusal) {
  return refusal.cause.code == no_kernel && refusal.node->def() == nullptr;
}

void drop_repeated(std::vector<Refusal>& refusals) {
  std::set<std::pair<const Node*, std::string>> seen;
  std::erase_if(refusals, [&](const Refusal& refusal) {
    return refusal.node != nullptr && !seen.emplace(refusal.node, refusal.cause.message).second;
  });
}

// Returns the user's source line, or the node's name if the program has no source lines.
std::string place_of(const Refusal& refusal) {
  if (!refusal.cause.source.empty()) return refusal.cause.source;
  return fmt::format("%{} of method {}", refusal.node->display_name(), refusal.method.str());
}

// Returns the different hints, at most max_hints.
std::string hints_of(const std::vector<Refusal>& refusals) {
  constexpr std::size_t max_hints = 3;
  const bool has_unknown = std::ranges::any_of(refusals, is_unknown);
  std::vector<std::string> hints;
  for (const Refusal& refusal : refusals) {
    const bool has_own = refusal.cause.code != no_kernel && !refusal.cause.hint.empty();
    std::string hint(has_own ? refusal.cause.hint : has_unknown ? hint_of_unknown : general_hint);
    if (hints.size() < max_hints && std::ranges::find(hints, hint) == hints.end())
      hints.push_back(std::move(hint));
  }
  return fmt::format("{}", fmt::join(hints, "; "));
}

// Nodes of one op without a kernel.
struct Missing {
  std::size_t nodes = 0;
  std::vector<std::string> places;  // distinct
  std::unordered_set<std::string> seen;
};

std::string line_of(std::string_view op, const Missing& missing) {
  std::string line = fmt::format("{} x {}: ", missing.nodes, op);
  const std::size_t shown = std::min(missing.places.size(), max_places);
  for (std::size_t i = 0; i < shown; ++i) line += (i == 0 ? "" : ", ") + missing.places[i];
  if (std::size_t more = missing.places.size() - shown; more > 0) line += fmt::format(" and {} more", more);
  return line;
}

std::vector<std::string> missing_lines(const std::vector<Refusal>& refusals) {
  std::map<std::string_view, Missing> by_op;
  for (const Refusal& refusal : refusals) {
    if (refusal.cause.code != no_kernel) continue;
    Missing& missing = by_op[refusal.node->op().str()];
    ++missing.nodes;
    std::string place = place_of(refusal);
    if (missing.seen.insert(place).second) missing.places.push_back(std::move(place));
  }
  std::vector<std::pair<std::string_view, const Missing*>> sorted;
  for (const auto& [op, missing] : by_op) sorted.emplace_back(op, &missing);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& entry) { return entry.second->nodes; });
  std::vector<std::string> lines;
  for (const auto& [op, missing] : sorted) lines.push_back(line_of(op, *missing));
  return lines;
}

std::string where_of(const std::vector<Refusal>& refusals) {
  std::vector<std::string_view> methods;
  for (const Refusal& refusal : refusals) {
    if (std::ranges::find(methods, refusal.method.str()) == methods.end()) {
      methods.push_back(refusal.method.str());
    }
  }
  return fmt::format("{} {}", methods.size() == 1 ? "method" : "methods", fmt::join(methods, ", "));
}

}  // namespace

Diagnostic summary_of(std::vector<Refusal>& refusals) {
  drop_repeated(refusals);
  if (refusals.size() == 1) return refusals.front().cause;
  Diagnostic summary{.code = std::string(no_kernel),
                     .where = where_of(refusals),
                     .message = {},
                     .hint = hints_of(refusals),
                     .source = {}};
  auto missing =
      std::ranges::count_if(refusals, [](const Refusal& refusal) { return refusal.cause.code == no_kernel; });
  summary.details = missing_lines(refusals);
  if (missing > 0) {
    summary.message = fmt::format("ExecuTorch's runtime has no kernel for {} of {}",
                                  plural(static_cast<std::size_t>(missing), "node"),
                                  plural(summary.details.size(), "operator"));
  }
  const auto others = refusals.size() - static_cast<std::size_t>(missing);
  if (others == 0) return summary;
  if (missing == 0) summary.code = "plan";
  summary.message += missing == 0 ? fmt::format("{} nodes or values cannot be executed", others)
                                  : fmt::format(", and cannot execute {} more", others);
  for (const Refusal& refusal : refusals) {
    if (refusal.cause.code == no_kernel) continue;
    const Diagnostic& cause = refusal.cause;
    summary.details.push_back(fmt::format("{}: {}{}", cause.where, cause.message,
                                          cause.source.empty() ? "" : " (" + cause.source + ")"));
  }
  return summary;
}

}  // namespace depute
