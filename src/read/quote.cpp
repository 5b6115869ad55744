#include "read/quote.h"

#include <fmt/format.h>

namespace depute {
namespace {

constexpr std::size_t max_quoted_bytes = 120;

}  // namespace

std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (char c : text.substr(0, max_quoted_bytes)) {
    auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code >= 0x7f) {
      quoted += fmt::format("\\x{:02x}", code);
    } else {
      quoted += c;
    }
  }
  quoted += text.size() > max_quoted_bytes ? "'..." : "'";
  return quoted;
}

}  // namespace depute
