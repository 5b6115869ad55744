#include "depute/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "support/trim.h"

namespace depute {
namespace {

using Quantity = Requirement::Quantity;
using Relation = Requirement::Relation;

constexpr std::array<std::pair<std::string_view, Quantity>, 5> quantities = {{
    {"coverage", Quantity::Coverage},
    {"partitions", Quantity::Partitions},
    {"delegated", Quantity::DelegatedNodes},
    {"non_delegated", Quantity::NonDelegatedNodes},
    {"sqnr", Quantity::Sqnr},
}};
constexpr std::array<std::pair<std::string_view, Relation>, 3> relations = {{
    {">=", Relation::AtLeast},
    {"<=", Relation::AtMost},
    {"==", Relation::Equal},
}};

std::optional<double> parse_bound(std::string_view text, Quantity quantity) {
  if (quantity == Quantity::Coverage && text.ends_with('%')) text.remove_suffix(1);
  double bound = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), bound);
  if (failure != std::errc() || end != text.data() + text.size() || !(bound >= 0)) return std::nullopt;
  return bound;
}

std::optional<Requirement> parse_one(std::string_view text) {
  for (const auto& [sign, relation] : relations) {
    std::size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    std::string_view left = trimmed(text.substr(0, at));
    for (const auto& [name, quantity] : quantities) {
      if (name != left) continue;
      std::optional<double> bound = parse_bound(trimmed(text.substr(at + sign.size())), quantity);
      if (bound) return Requirement{quantity, relation, *bound, std::string(text)};
    }
  }
  return std::nullopt;
}

double measure(const Report& report, Quantity quantity) {
  switch (quantity) {
    case Quantity::Coverage:
      return report.coverage();
    case Quantity::Partitions:
      return static_cast<double>(report.delegates.size());
    case Quantity::DelegatedNodes:
      return static_cast<double>(report.delegated_nodes());
    case Quantity::NonDelegatedNodes:
      return static_cast<double>(report.non_delegated_nodes());
    case Quantity::Sqnr: {
      double least = std::numeric_limits<double>::infinity();
      for (const QuantisedLayer& layer : report.quantised.layers) least = std::min(least, layer.sqnr);
      return least;
    }
  }
  return 0;
}

bool holds(double value, Relation relation, double bound) {
  switch (relation) {
    case Relation::AtLeast:
      return value >= bound;
    case Relation::AtMost:
      return value <= bound;
    case Relation::Equal:
      return value == bound;
  }
  return false;
}

}  // namespace

Result<std::vector<Requirement>> parse_requirements(std::string_view text) {
  std::vector<Requirement> requirements;
  while (!trimmed(text).empty()) {
    std::size_t comma = text.find(',');
    std::string_view part = trimmed(text.substr(0, comma));
    std::optional<Requirement> requirement = parse_one(part);
    if (!requirement) {
      return failure(
          "usage", "--require", fmt::format("cannot read '{}'", part),
          "write for example coverage>=95%,partitions<=3 (also delegated, non_delegated, sqnr; >=, <=, ==)");
    }
    requirements.push_back(std::move(*requirement));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return requirements;
}

std::vector<std::string> unmet(const Report& report, const std::vector<Requirement>& requirements) {
  std::vector<std::string> lines;
  for (const Requirement& requirement : requirements) {
    double value = measure(report, requirement.quantity);
    if (holds(value, requirement.relation, requirement.bound)) continue;
    const bool is_percent = requirement.quantity == Quantity::Coverage;
    const bool is_count = !is_percent && requirement.quantity != Quantity::Sqnr;
    lines.push_back(
        fmt::format("{} (is {:.{}f}{})", requirement.text, value, is_count ? 0 : 1, is_percent ? "%" : ""));
  }
  return lines;
}

}  // namespace depute
