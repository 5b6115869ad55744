// Spelling rules that the printer, the parser and symbolic expressions share: identifiers, quoted text,
// floats.
#pragma once

#include <string>
#include <string_view>

namespace depute::text {

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);

// Letters, digits and underscores: what a value's name may be without quotes.
bool is_plain_name(std::string_view text);

// [A-Za-z_][A-Za-z0-9_.:]*, and none of the words of statements: an op that needs no quotes.
bool is_plain_op(std::string_view text);

// Appends `text` in double quotes: \" \\ \n \t, and \xNN for other control characters. All other bytes stay
// as they are.
void append_quoted(std::string& out, std::string_view text);
std::string quoted(std::string_view text);

// The value of the escape that begins behind a backslash at text[at]; moves `at` to its last character. False
// for an unknown escape.
bool read_escape(std::string_view text, std::size_t& at, char& value);

// The shortest text that reads back as the same float, always with a point or an exponent: 1.0, 2.5e-07, inf,
// -inf, nan.
std::string float_text(double value);
std::string float_text(float value);

}  // namespace depute::text
