#include "read/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/parse_number.h"
#include "support/trim.h"

namespace depute {
namespace {

constexpr const char* variable = "DEPUTE_LIMITS";

#define DEPUTE_LIMIT(name)                                   \
  std::pair<std::string_view, std::uint64_t ReadLimits::*> { \
    #name, &ReadLimits::name                                 \
  }
constexpr std::array every_limit = {
    DEPUTE_LIMIT(archive_entries), DEPUTE_LIMIT(entry_name_bytes),
    DEPUTE_LIMIT(inflated_bytes),  DEPUTE_LIMIT(inflate_ratio),
    DEPUTE_LIMIT(json_bytes),      DEPUTE_LIMIT(json_depth),
    DEPUTE_LIMIT(models),          DEPUTE_LIMIT(nodes),
    DEPUTE_LIMIT(graph_depth),     DEPUTE_LIMIT(argument_depth),
    DEPUTE_LIMIT(list_elements),   DEPUTE_LIMIT(expression_bytes),
    DEPUTE_LIMIT(pickle_bytes),    DEPUTE_LIMIT(pickle_values),
    DEPUTE_LIMIT(subclass_depth),  DEPUTE_LIMIT(subclass_parts),
    DEPUTE_LIMIT(text_bytes),
};
#undef DEPUTE_LIMIT
static_assert(every_limit.size() * sizeof(std::uint64_t) == offsetof(ReadLimits, has_environment),
              "a limit without a name");

Status set(ReadLimits& to, std::string_view assignment) {
  const std::size_t equal = std::min(assignment.find('='), assignment.size());
  const std::string_view name = assignment.substr(0, equal);
  const std::string_view number = assignment.substr(std::min(equal + 1, assignment.size()));
  const auto limit = std::ranges::find(every_limit, name, &decltype(every_limit)::value_type::first);
  if (limit == every_limit.end()) {
    std::vector<std::string> names;
    for (const auto& [known, member] : every_limit) names.emplace_back(known);
    return failure("usage", variable, fmt::format("there is no limit '{}'", name),
                   did_you_mean(name, names, fmt::format("the limits are {}", fmt::join(names, ", "))));
  }
  const auto given = parse_number<std::remove_cvref_t<decltype(to.*limit->second)>>(number);
  if (!given) return failure("usage", variable, fmt::format("{}: '{}' is not a number", name, number));
  to.*limit->second = *given;
  if (*given == 0) return failure("usage", variable, fmt::format("{}: the least is 1", name));
  return {};
}

}  // namespace

Result<ReadLimits> read_limits() {
  ReadLimits result;
  result.has_environment = true;
  const char* value = std::getenv(variable);
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (Status done = set(result, trimmed(rest.substr(0, comma))); !done) return Failure(done.error());
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return result;
}

Failure beyond(const ReadLimits& limits, std::uint64_t ReadLimits::* limit, Failure error) {
  const std::string_view name =
      std::ranges::find(every_limit, limit, [](const auto& known) { return known.second; })->first;
  error.error().message += fmt::format("; the limit {} is {}", name, limits.*limit);
  if (limits.has_environment)
    error.error().hint = fmt::format("{}={}=NUMBER in the environment raises it", variable, name);
  return error;
}

}  // namespace depute
