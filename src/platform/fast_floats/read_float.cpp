// Floating-point numbers by the library fast_float, for standard libraries that read none (libc++ before 20).
#include <fast_float/fast_float.h>

#include <cctype>
#include <cmath>

#include "platform/parse_number.h"

namespace depute::platform {
namespace {

template <typename T>
std::from_chars_result read(const char* first, const char* last, T& number) {
  auto [end, error] = fast_float::from_chars(first, last, number);
  // Versions before 4 return infinity for a number that is too large, not for the word alone.
  const bool is_word = error == std::errc() && std::isalpha(static_cast<unsigned char>(end[-1])) != 0;
  if (error == std::errc() && std::isinf(number) && !is_word) error = std::errc::result_out_of_range;
  return {end, error};
}

}  // namespace

std::from_chars_result read_float(const char* first, const char* last, float& number) {
  return read(first, last, number);
}

std::from_chars_result read_float(const char* first, const char* last, double& number) {
  return read(first, last, number);
}

}  // namespace depute::platform
