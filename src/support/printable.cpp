#include "support/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "depute/program/result.h"

namespace depute {
namespace {

// Length in bytes of the UTF-8 character at the start of `text`; 0 for invalid UTF-8.
std::size_t length_of_character(std::string_view text) {
  const auto is_within = [&](std::size_t i, unsigned least, unsigned most) {
    const unsigned byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    return byte >= least && byte <= most;
  };
  const auto continues = [&](std::size_t i) { return is_within(i, 0x80, 0xBF); };
  if (is_within(0, 0, 0x7F)) return 1;
  if (is_within(0, 0xC2, 0xDF)) return continues(1) ? 2 : 0;
  // Excludes overlong encodings, surrogates, and code points beyond U+10FFFF.
  const unsigned least = is_within(0, 0xE0, 0xE0) ? 0xA0 : is_within(0, 0xF0, 0xF0) ? 0x90 : 0x80;
  const unsigned most = is_within(0, 0xED, 0xED) ? 0x9F : is_within(0, 0xF4, 0xF4) ? 0x8F : 0xBF;
  if (is_within(0, 0xE0, 0xEF)) return is_within(1, least, most) && continues(2) ? 3 : 0;
  if (is_within(0, 0xF0, 0xF4)) return is_within(1, least, most) && continues(2) && continues(3) ? 4 : 0;
  return 0;
}

// The code point of the first `length` bytes, which are valid UTF-8.
char32_t code_point(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  char32_t code = length == 1 ? first : first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return code;
}

// Control characters, directional marks and isolates, line separators, invisible operators, the byte order mark,
// and characters that Unicode reserves. The last two of each plane are reserved, too.
constexpr std::array<std::pair<char32_t, char32_t>, 8> unprintable = {{{0, 0x1F},
                                                                       {0x7F, 0x9F},
                                                                       {0x61C, 0x61C},
                                                                       {0x200E, 0x200F},
                                                                       {0x2028, 0x202E},
                                                                       {0x2060, 0x206F},
                                                                       {0xFDD0, 0xFDEF},
                                                                       {0xFEFF, 0xFEFF}}};

bool is_printable(char32_t code) {
  return (code & 0xFFFEU) != 0xFFFE && std::ranges::none_of(unprintable, [&](const auto& range) {
           return code >= range.first && code <= range.second;
         });
}

}  // namespace

std::size_t printable_length(std::string_view text) {
  const std::size_t length = length_of_character(text);
  return length > 0 && is_printable(code_point(text, length)) ? length : 0;
}

std::string printable_json(std::string json) {
  if (std::ranges::all_of(json, [](char c) { return c < 0x7f && c >= 0; })) return json;
  std::string escaped;
  for (std::string_view rest = json; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(length_of_character(rest), 1);
    const char32_t code = code_point(rest, length);
    if (code < ' ' || is_printable(code)) {  // control characters below a blank are white space
      escaped += rest.substr(0, length);
    } else if (code <= 0xFFFF) {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    } else {
      const auto above = static_cast<unsigned>(code) - 0x10000U;
      escaped += fmt::format("\\u{:04x}\\u{:04x}", 0xD800U + (above >> 10U), 0xDC00U + (above & 0x3FFU));
    }
    rest.remove_prefix(length);
  }
  return escaped;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    if (text[0] == '\n') {
      result += "\\n";
    } else if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

}  // namespace depute
