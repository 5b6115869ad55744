// Conditions that a lowering must meet, for CI: --require "coverage>=95%,partitions<=3".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "depute/report.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct Requirement {
  enum class Quantity : std::uint8_t { Coverage, Partitions, DelegatedNodes, NonDelegatedNodes, Sqnr };
  enum class Relation : std::uint8_t { AtLeast, AtMost, Equal };
  Quantity quantity;
  Relation relation;
  double bound;
  std::string text;  // as the user wrote it
};

// quantity: coverage (percent), partitions, delegated, non_delegated, sqnr (decibels of the noisiest layer
// that was quantised; infinite without one); relation: >=, <=, ==. Separated by commas.
Result<std::vector<Requirement>> parse_requirements(std::string_view text);

// One line for each requirement that does not hold: "coverage>=95% (is 92.9%)".
std::vector<std::string> unmet(const Report& report, const std::vector<Requirement>& requirements);

}  // namespace depute

#pragma GCC visibility pop
