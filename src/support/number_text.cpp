#include "support/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace depute {

std::string plural(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= 10'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  if (bytes >= 10'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{} bytes", bytes);
}

std::string amount_text(const std::optional<std::uint64_t>& amount, std::string_view unit) {
  if (!amount) return "unbounded";
  constexpr std::array<std::pair<std::uint64_t, char>, 3> steps = {
      {{1'000'000'000, 'G'}, {1'000'000, 'M'}, {1'000, 'k'}}};
  for (const auto& [step, letter] : steps) {
    if (*amount >= step)
      return fmt::format("{:.1f} {}{}", static_cast<double>(*amount) / static_cast<double>(step), letter,
                         unit);
  }
  return fmt::format("{}{}{}", *amount, unit.empty() ? "" : " ", unit);
}

double percent(std::uint64_t part, std::uint64_t whole, double of_nothing) {
  return whole == 0 ? of_nothing : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<std::uint64_t> bytes_of_text(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const std::size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit) + 1;
  const bool is_unit = unit.empty() || (unit.size() == 1 && power > 0 && power <= 4);
  if (error != std::errc() || !is_unit || number > (~std::uint64_t{0} >> (10 * power))) return std::nullopt;
  return number << (10 * power);
}

std::size_t shown_of(std::size_t count, std::size_t top) {
  return top == 0 ? count : std::min(count, top);
}

}  // namespace depute
