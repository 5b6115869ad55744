#include "depute/tools/report.h"

#include <charconv>

namespace depute {

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const std::size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit) + 1;
  const bool is_unit = unit.empty() || (unit.size() == 1 && power > 0 && power <= 4);
  if (error != std::errc() || !is_unit || number > (~std::uint64_t{0} >> (10 * power))) return std::nullopt;
  return number << (10 * power);
}

}  // namespace depute
