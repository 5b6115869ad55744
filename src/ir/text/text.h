// Lexical rules shared by printer, parser and symbolic expressions: identifiers, quoted text, floats.
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

// True for nonempty text of letters, digits and underscores: a value name that needs no quotes.
bool is_plain_name(std::string_view text);

// True for an op that needs no quotes: [A-Za-z_][A-Za-z0-9_.:]*, except for keywords of statements.
bool is_plain_op(std::string_view text);

// Appends `text` in double quotes, with \" \\ \n \t, and \xNN for other control characters. Other bytes are
// unchanged.
void append_quoted(std::string& out, std::string_view text);
std::string quoted(std::string_view text);

// Decodes the escape whose backslash precedes text[at], and moves `at` to its last character. Returns false
// for an unknown escape.
bool read_escape(std::string_view text, std::size_t& at, char& value);

// Returns the shortest text that parses to the same float, always with a point or an exponent: 1.0, 2.5e-07,
// inf, -inf, nan.
std::string float_text(double value);
std::string float_text(float value);

}  // namespace depute::text
