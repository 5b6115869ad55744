#include "depute/program/result.h"

#include <fmt/format.h>

#include <algorithm>

namespace depute {
namespace {

// Length in bytes of the UTF-8 character at the start of `text`; 0 for invalid UTF-8 and for control
// characters U+0080 to U+009F.
std::size_t length_of_character(std::string_view text) {
  const auto is_within = [&](std::size_t i, unsigned least, unsigned most) {
    const unsigned byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    return byte >= least && byte <= most;
  };
  const auto continues = [&](std::size_t i) { return is_within(i, 0x80, 0xBF); };
  if (is_within(0, 0, 0x7F)) return 1;
  if (is_within(0, 0xC2, 0xDF)) return is_within(1, is_within(0, 0xC2, 0xC2) ? 0xA0 : 0x80, 0xBF) ? 2 : 0;
  // Excludes overlong encodings, surrogates, and code points beyond U+10FFFF.
  const unsigned least = is_within(0, 0xE0, 0xE0) ? 0xA0 : is_within(0, 0xF0, 0xF0) ? 0x90 : 0x80;
  const unsigned most = is_within(0, 0xED, 0xED) ? 0x9F : is_within(0, 0xF4, 0xF4) ? 0x8F : 0xBF;
  if (is_within(0, 0xE0, 0xEF)) return is_within(1, least, most) && continues(2) ? 3 : 0;
  if (is_within(0, 0xF0, 0xF4)) return is_within(1, least, most) && continues(2) && continues(3) ? 4 : 0;
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (first == '\n') {
      result += "\\n";
    } else if (length == 0 || first < ' ' || first == 0x7f) {
      result += fmt::format("\\x{:02x}", first);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace depute
