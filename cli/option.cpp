#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "platform/parse_number.h"

namespace depute {

std::vector<std::string> Option::spellings() const {
  std::vector<std::string> each;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    each.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return each;
}

bool Option::is_flag() const {
  return std::holds_alternative<bool*>(target);
}

bool Option::is_positional() const {
  return !names.starts_with('-');
}

std::string Option::value_name() const {
  if (!value.empty()) return value;
  return std::holds_alternative<int*>(target) || std::holds_alternative<std::uint64_t*>(target) ? "N"
                                                                                                : "TEXT";
}

std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second) {
  std::ranges::move(second, std::back_inserter(first));
  return first;
}

Result<double> parse_tolerance(std::string_view option, const std::string& text) {
  const auto tolerance = parse_number<double>(text);
  if (tolerance && *tolerance >= 0) return *tolerance;
  return failure("usage", option, fmt::format("'{}' is not a number of 0 or more", text));
}

}  // namespace depute
