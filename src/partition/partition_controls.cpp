// Parses the controls that every backend has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "depute/backend/pins.h"
#include "depute/program/result.h"
#include "partition/region_words.h"
#include "platform/parse_number.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::pair<std::string_view, RegionMode> modes[] = {
    {"settled", RegionMode::Settled}, {"fx", RegionMode::Fx}, {"apart", RegionMode::Apart}};
constexpr std::pair<std::string_view, bool> booleans[] = {{"true", true}, {"false", false}};

// Returns the value of a word, or an error that lists the known words.
template <typename T, std::size_t count>
Result<T> meaning(const std::pair<std::string_view, T> (&words)[count], std::string_view where,
                  std::string_view key, std::string_view value) {
  std::vector<std::string> known;
  for (const auto& [word, meant] : words) {
    if (word == value) return meant;
    known.emplace_back(word);
  }
  return failure("usage", where, fmt::format("unknown {} '{}'", key, value),
                 did_you_mean(value, known, fmt::format("{}", fmt::join(known, ", "))));
}

Result<std::uint32_t> count(std::string_view where, std::string_view key, std::string_view value) {
  const auto number = parse_number<std::uint32_t>(value);
  if (number && *number > 0) return *number;
  return failure("usage", where, fmt::format("{}={} is not a number of nodes", key, value),
                 "use a number of 1 or more");
}

// Only pins may be repeated: their values accumulate.
Status check_repeated(const std::string& where, const KeyValues& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& key = options[i].first;
    if (key == "only" || key == "off") continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (options[j].first == key) return failure("usage", where, fmt::format("duplicate option {}", key));
    }
  }
  return {};
}

// Returns false if the option is the backend's own.
Result<bool> take_option(PartitionControls& controls, const std::string& where, const std::string& key,
                         const std::string& value) {
  if (key == "only" || key == "off") {
    Status added = controls.pins.add(key == "only" ? Pins::Rule::Only : Pins::Rule::Off, value);
    if (!added) {
      added.error().where = fmt::format("{}, {}={}", where, key, value);
      return Failure(added.error());
    }
  } else if (key == "mode") {
    TRY(controls.mode, meaning(modes, where, key, value));
  } else if (key == "merge_unconnected") {
    TRY(controls.merge_unconnected, meaning(booleans, where, key, value));
  } else if (key == "min_nodes") {
    TRY(controls.min_nodes, count(where, key, value));
  } else if (key == "max_nodes") {
    TRY(controls.max_nodes, count(where, key, value));
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<PartitionControls> take_partition_controls(std::string_view backend, KeyValues& options) {
  const std::string where = fmt::format("--backend {}", backend);
  PartitionControls controls;
  KeyValues rest;
  TRY_STATUS(check_repeated(where, options));
  for (const auto& [key, value] : options) {
    TRY(const bool taken, take_option(controls, where, key, value));
    if (!taken) rest.emplace_back(key, value);
  }
  options = std::move(rest);
  return controls;
}

std::string_view word_of(RegionMode mode) {
  return std::ranges::find(modes, mode, &std::pair<std::string_view, RegionMode>::second)->first;
}

std::vector<std::pair<std::string, std::string>> partition_control_meanings() {
  return {{"only", "take only these nodes: module path, node:NAME, name:REGEX, op:OP (repeatable)"},
          {"off", "do not take these nodes (repeatable)"},
          {"mode", "how regions grow: settled (default), fx, apart"},
          {"merge_unconnected", "true (default) or false: whether unrelated nodes share a delegate"},
          {"min_nodes", "smallest number of connected nodes to delegate"},
          {"max_nodes", "largest number of nodes in a delegate"}};
}

}  // namespace depute
