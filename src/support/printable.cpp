#include "support/printable.h"

#include <fmt/format.h>

namespace depute {

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (char c : text) {
    bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    if (c == '\n') {
      result += "\\n";
    } else if (is_control) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace depute
