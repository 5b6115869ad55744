// Numbers from text, the same in every locale and with every standard library. std::from_chars reads floating-point
// numbers only in libstdc++, and in libc++ since version 20.
//
//   parse_number<double>("0.5")  0.5
//   parse_number<int>("12px")    nothing: other text follows
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace depute {
namespace platform {

// Reads the number at the start of a text, like std::from_chars.
std::from_chars_result read_float(const char* first, const char* last, float& number);
std::from_chars_result read_float(const char* first, const char* last, double& number);

}  // namespace platform

// The number that the whole text is, in decimal digits. Nothing for other text, and for a number beyond T.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const char* const last = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    read = platform::read_float(text.data(), last, number);
  } else {
    read = std::from_chars(text.data(), last, number);
  }
  return read.ec == std::errc() && read.ptr == last ? std::optional(number) : std::nullopt;
}

}  // namespace depute
