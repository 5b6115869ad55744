#include "depute/tools/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "depute/program/result.h"
#include "platform/parse_number.h"
#include "support/number_text.h"
#include "support/trim.h"
#include "support/wildcard.h"

namespace depute {
namespace {

using Quantity = Requirement::Quantity;
using Relation = Requirement::Relation;

enum class Unit : std::uint8_t { Count, Bytes, Percent, Decibels, Names };

struct QuantityName {
  std::string_view name;
  Quantity quantity;
  Unit unit;
};

constexpr std::array<QuantityName, 13> quantities = {{
    {"coverage", Quantity::Coverage, Unit::Percent},
    {"partitions", Quantity::Partitions, Unit::Count},
    {"delegates", Quantity::Partitions, Unit::Count},
    {"delegated", Quantity::DelegatedNodes, Unit::Count},
    {"non_delegated", Quantity::NonDelegatedNodes, Unit::Count},
    {"non_delegated_macs", Quantity::NonDelegatedMacs, Unit::Count},
    {"boundary_bytes", Quantity::BoundaryBytes, Unit::Bytes},
    {"memory", Quantity::Memory, Unit::Bytes},
    {"load_memory", Quantity::LoadMemory, Unit::Bytes},
    {"load_memory_32", Quantity::LoadMemory32, Unit::Bytes},
    {"file_size", Quantity::FileSize, Unit::Bytes},
    {"sqnr", Quantity::Sqnr, Unit::Decibels},
    {"kernels", Quantity::Kernels, Unit::Names},
}};
constexpr std::array<std::pair<std::string_view, Relation>, 3> relations = {{
    {">=", Relation::AtLeast},
    {"<=", Relation::AtMost},
    {"==", Relation::Equal},
}};

Unit unit_of(Quantity quantity) {
  return std::ranges::find(quantities, quantity, &QuantityName::quantity)->unit;
}

std::optional<double> parse_bound(std::string_view text, Unit unit) {
  if (unit == Unit::Percent && text.ends_with('%')) text.remove_suffix(1);
  if (unit == Unit::Bytes) {
    if (auto bytes = bytes_of_text(text)) return static_cast<double>(*bytes);
  }
  const auto bound = parse_number<double>(text);
  return bound && *bound >= 0 ? bound : std::nullopt;
}

// The left side of the relation, such as "coverage:xnnpack" or "memory:sram".
struct Asked {
  const QuantityName* quantity = nullptr;
  std::string part = {};  // a backend or a memory bank
};

Asked parse_quantity(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto found = std::ranges::find(quantities, trimmed(text.substr(0, colon)), &QuantityName::name);
  if (found == quantities.end()) return {};
  if (colon == text.npos) return {.quantity = &*found};
  Asked asked{.quantity = &*found, .part = std::string(trimmed(text.substr(colon + 1)))};
  const bool has_parts = found->quantity == Quantity::Coverage || found->quantity == Quantity::Memory;
  if (!has_parts || asked.part.empty()) return {};
  return asked;
}

std::optional<Requirement> parse_bounded(std::string_view text, std::string_view left, Relation relation,
                                         std::string_view right) {
  const Asked asked = parse_quantity(left);
  if (asked.quantity == nullptr) return std::nullopt;
  Requirement requirement{
      .quantity = asked.quantity->quantity, .relation = relation, .text = std::string(text)};
  (requirement.quantity == Quantity::Memory ? requirement.bank : requirement.backend) = asked.part;
  if (asked.quantity->unit == Unit::Names) {
    const std::vector<std::string_view> names = split_words(right);
    requirement.kernels.assign(names.begin(), names.end());
    const bool is_list = relation == Relation::AtMost && !requirement.kernels.empty();
    return is_list ? std::optional(std::move(requirement)) : std::nullopt;
  }
  const std::optional<double> bound = parse_bound(right, asked.quantity->unit);
  if (!bound) return std::nullopt;
  requirement.bound = *bound;
  return requirement;
}

std::optional<Requirement> parse_one(std::string_view text) {
  for (const auto& [sign, relation] : relations) {
    const std::size_t at = text.find(sign);
    if (at == text.npos) continue;
    if (auto requirement = parse_bounded(text, trimmed(text.substr(0, at)), relation,
                                         trimmed(text.substr(at + sign.size()))))
      return requirement;
  }
  return std::nullopt;
}

// The hint for a condition that cannot be parsed.
std::string hint_for(std::string_view text) {
  std::vector<std::string> names;
  for (const QuantityName& each : quantities) names.emplace_back(each.name);
  const std::string_view word = trimmed(text.substr(0, text.find_first_of("<>=: ")));
  const std::string all = fmt::format(
      "write for example coverage>=95%,partitions<=3; there are {}; >=, <=, ==", fmt::join(names, ", "));
  return std::ranges::find(names, word) == names.end() ? did_you_mean(word, names, all) : all;
}

double number_or_infinity(const std::optional<std::uint64_t>& number) {
  return number ? static_cast<double>(*number) : std::numeric_limits<double>::infinity();
}

std::uint64_t written_bytes(const Report& report) {
  std::uint64_t bytes = report.output_bytes;
  for (const ExternalFile& file : report.external_files) bytes += file.bytes;
  return bytes;
}

bool is_load_memory(Quantity quantity) {
  return quantity == Quantity::LoadMemory || quantity == Quantity::LoadMemory32;
}

// That of all methods and versions of the runtime.
std::vector<LoadMemory> load_memory_of(const Report& report, Quantity quantity) {
  std::vector<LoadMemory> all = report.planned ? report.planned->load_memory : std::vector<LoadMemory>();
  const std::uint64_t bits = quantity == Quantity::LoadMemory32 ? 32 : 64;
  std::erase_if(all, [&](const LoadMemory& each) { return each.bits != bits; });
  return all;
}

// Returns the bytes that the method with the largest use takes of the bank.
std::uint64_t bank_bytes(const PlannedFacts& planned, std::string_view bank) {
  std::uint64_t most = 0;
  for (const BankUse& use : planned.banks) {
    if (use.bank == bank) most = std::max(most, use.used);
  }
  return most;
}

double measure(const Report& report, const Requirement& requirement) {
  switch (requirement.quantity) {
    case Quantity::Coverage:
      return requirement.backend.empty() ? report.coverage() : report.coverage_of(requirement.backend);
    case Quantity::Partitions:
      return static_cast<double>(report.delegates.size());
    case Quantity::DelegatedNodes:
      return static_cast<double>(report.delegated_nodes());
    case Quantity::NonDelegatedNodes:
      return static_cast<double>(report.non_delegated_nodes());
    case Quantity::NonDelegatedMacs:
      return number_or_infinity(report.non_delegated_macs());
    case Quantity::BoundaryBytes:
      return number_or_infinity(report.boundary_bytes());
    case Quantity::Memory:
      if (!requirement.bank.empty())
        return static_cast<double>(bank_bytes(*report.planned, requirement.bank));
      return number_or_infinity(report.planned ? std::optional(report.planned->memory) : std::nullopt);
    case Quantity::LoadMemory:
    case Quantity::LoadMemory32: {
      std::uint64_t most = 0;
      for (const LoadMemory& each : load_memory_of(report, requirement.quantity))
        most = std::max(most, each.total());
      return static_cast<double>(most);
    }
    case Quantity::FileSize:
      return static_cast<double>(written_bytes(report));
    case Quantity::Sqnr: {
      double least = std::numeric_limits<double>::infinity();
      for (const QuantizedLayer& layer : report.quantized.layers) least = std::min(least, layer.sqnr);
      return least;
    }
    case Quantity::Kernels:
      break;
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

// "5.3M, 5557000 bytes": uses the units of conditions if that is shorter.
std::string byte_text(double bytes) {
  constexpr std::array<std::pair<double, char>, 3> units = {
      {{1024.0 * 1024 * 1024, 'G'}, {1024.0 * 1024, 'M'}, {1024.0, 'K'}}};
  for (const auto& [size, letter] : units) {
    if (bytes >= size) return fmt::format("{:.1f}{}, {:.0f} bytes", bytes / size, letter, bytes);
  }
  return fmt::format("{:.0f} bytes", bytes);
}

std::string value_text(double value, Unit unit) {
  const bool is_whole = unit == Unit::Count || unit == Unit::Bytes;
  if (is_whole && value == std::numeric_limits<double>::infinity()) return "is unbounded";
  if (unit == Unit::Bytes) return "is " + byte_text(value);
  return fmt::format("is {:.{}f}{}", value, is_whole ? 0 : 1, unit == Unit::Percent ? "%" : "");
}

// Returns the kernels that the list does not contain; "aten::*" matches all of aten.
std::vector<std::string> kernels_outside(const PlannedFacts& planned, const Requirement& requirement) {
  std::vector<std::string> outside;
  for (const std::string& kernel : planned.kernels) {
    const bool is_allowed = std::ranges::any_of(
        requirement.kernels, [&](const std::string& pattern) { return matches_wildcard(pattern, kernel); });
    if (!is_allowed) outside.push_back(kernel);
  }
  return outside;
}

// Describes the violation of a requirement; empty if it is met.
std::string fault_of(const Report& report, const Requirement& requirement) {
  const bool needs_plan = requirement.quantity == Quantity::Kernels ||
                          requirement.quantity == Quantity::Memory || is_load_memory(requirement.quantity);
  if (needs_plan && !report.planned) return "is not known: the program cannot be planned";
  if (requirement.quantity == Quantity::Kernels) {
    const std::vector<std::string> outside = kernels_outside(*report.planned, requirement);
    return outside.empty() ? "" : fmt::format("calls {}", fmt::join(outside, ", "));
  }
  if (!requirement.bank.empty() && std::ranges::find(report.planned->banks, requirement.bank,
                                                     &BankUse::bank) == report.planned->banks.end())
    return fmt::format("is not known: there is no memory bank {}", requirement.bank);
  if (is_load_memory(requirement.quantity)) {
    for (const LoadMemory& each : load_memory_of(report, requirement.quantity)) {
      if (!each.unknown_backends.empty())
        return fmt::format("is not known: delegates of {} keep memory",
                           fmt::join(each.unknown_backends, ", "));
    }
  }
  const double value = measure(report, requirement);
  if (holds(value, requirement.relation, requirement.bound)) return {};
  return value_text(value, unit_of(requirement.quantity));
}

}  // namespace

Result<std::vector<Requirement>> parse_requirements(std::string_view text) {
  std::vector<Requirement> requirements;
  while (!trimmed(text).empty()) {
    std::size_t comma = text.find(',');
    std::string_view part = trimmed(text.substr(0, comma));
    std::optional<Requirement> requirement = parse_one(part);
    if (!requirement)
      return failure("usage", "--require", fmt::format("cannot read '{}'", part), hint_for(part));
    requirements.push_back(std::move(*requirement));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return requirements;
}

Status check_requirements(const std::vector<Requirement>& requirements,
                          const std::vector<std::string>& backends) {
  for (const Requirement& requirement : requirements) {
    const std::string& backend = requirement.backend;
    if (backend.empty() || std::ranges::find(backends, backend) != backends.end()) continue;
    const std::string asked =
        backends.empty() ? "ask it by --backend" : fmt::format("asked are {}", fmt::join(backends, ", "));
    return failure("usage", "--require",
                   fmt::format("{}: the backend '{}' is not asked", requirement.text, backend),
                   did_you_mean(backend, backends, asked));
  }
  return {};
}

bool needs_file(const Requirement& requirement) {
  return requirement.quantity == Quantity::FileSize;
}

std::vector<std::string> unmet(const Report& report, const std::vector<Requirement>& requirements,
                               bool with_file) {
  std::vector<std::string> lines;
  for (const Requirement& requirement : requirements) {
    if (!with_file && needs_file(requirement)) continue;
    const std::string fault = fault_of(report, requirement);
    if (!fault.empty()) lines.push_back(fmt::format("{} ({})", requirement.text, fault));
  }
  return lines;
}

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  return bytes_of_text(text);
}

}  // namespace depute
