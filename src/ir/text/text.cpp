#include "ir/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "support/printable.h"

namespace depute::text {
namespace {

template <typename T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string digits = fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

// Length of the character at the start of `text` that needs no escape, or 0.
std::size_t plain_length(std::string_view text) {
  const char c = text[0];
  if (c >= ' ' && c < 0x7f) return c != '"' && c != '\\' ? 1 : 0;
  return printable_length(text);
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  return std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_plain_op(std::string_view text) {
  static constexpr std::array<std::string_view, 8> statements = {"for",      "from",   "graph",  "in_spec",
                                                                 "out_spec", "output", "return", "store"};
  if (text.empty() || !is_letter(text[0]) || std::ranges::find(statements, text) != statements.end())
    return false;
  return std::ranges::all_of(text,
                             [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == ':'; });
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t length = plain_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\t') {
      out += c == '\n' ? "\\n" : "\\t";
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

bool read_escape(std::string_view text, std::size_t& at, char& value) {
  if (at >= text.size()) return false;
  value = text[at];
  if (value == '"' || value == '\\') return true;
  if (value == 'n' || value == 't') {
    value = value == 'n' ? '\n' : '\t';
    return true;
  }
  if (value != 'x' || at + 2 >= text.size()) return false;
  unsigned byte = 0;
  const char* digits = text.data() + at + 1;
  auto [end, status] = std::from_chars(digits, digits + 2, byte, 16);
  if (status != std::errc() || end != digits + 2) return false;
  value = static_cast<char>(byte);
  at += 2;
  return true;
}

std::string float_text(double value) {
  return shortest(value);
}
std::string float_text(float value) {
  return shortest(value);
}

}  // namespace depute::text
