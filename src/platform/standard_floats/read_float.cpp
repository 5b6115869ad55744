// Floating-point numbers by the standard library.
#include "platform/parse_number.h"

namespace depute::platform {

std::from_chars_result read_float(const char* first, const char* last, float& number) {
  return std::from_chars(first, last, number);
}

std::from_chars_result read_float(const char* first, const char* last, double& number) {
  return std::from_chars(first, last, number);
}

}  // namespace depute::platform
