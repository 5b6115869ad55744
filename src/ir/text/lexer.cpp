#include "ir/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text/text.h"
#include "platform/parse_number.h"
#include "support/try.h"

namespace depute::text {

void Lexer::skip_blanks_and_comments() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == ';') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

bool Lexer::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

char Lexer::peek() {
  return at_end() ? '\0' : text_[at_];
}

std::size_t Lexer::position() {
  skip_blanks();
  return at_;
}

std::string_view Lexer::rest() {
  return text_.substr(position());
}

bool Lexer::accept(char c) {
  if (at_end() || text_[at_] != c) return false;
  ++at_;
  return true;
}

template <typename Belongs>
std::string_view Lexer::take_while(Belongs belongs) {
  std::size_t start = position();
  while (at_ < text_.size() && belongs(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view Lexer::take_identifier() {
  if (!is_letter(peek())) return {};
  return take_while([](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view Lexer::take_op() {
  if (!is_letter(peek())) return {};
  return take_while([](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == ':'; });
}

std::string_view Lexer::take_plain_name() {
  return take_while([](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view Lexer::take_number() {
  char previous = '\0';
  return take_while([&previous](char c) {
    bool is_sign = (c == '-' || c == '+') && (previous == '\0' || previous == 'e' || previous == 'E');
    previous = c;
    return is_sign || is_letter(c) || is_digit(c) || c == '.';
  });
}

bool Lexer::accept_word(std::string_view word) {
  std::size_t start = position();
  if (take_op() == word) return true;
  at_ = start;
  return false;
}

Status Lexer::expect(char c) {
  if (!accept(c)) return fault(fmt::format("expected '{}'", c));
  return {};
}

Status Lexer::expect_word(std::string_view word) {
  if (!accept_word(word)) return fault(fmt::format("expected '{}'", word));
  return {};
}

Result<std::string> Lexer::string(std::string_view what) {
  if (peek() != '"') return fault(fmt::format("expected {} in quotes", what));
  std::size_t start = at_;
  std::string value;
  for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_) {
    char c = text_[at_];
    std::size_t escape = at_;
    if (c == '\\' && !read_escape(text_, ++at_, c)) return fault_at(escape, "unknown escape in a string");
    value += c;
  }
  if (at_ >= text_.size() || text_[at_] != '"')
    return fault_at(start, "string without closing quote on its line");
  ++at_;
  return value;
}

Result<Name> Lexer::name(std::string_view what) {
  std::size_t start = position();
  std::string_view identifier = take_identifier();
  if (!identifier.empty()) return Name::scoped(identifier);
  if (peek() != '"') return fault(fmt::format("expected {}", what));
  TRY(std::string quoted_name, string(what));
  if (quoted_name.empty()) return fault_at(start, fmt::format("expected {}, not an empty string", what));
  return Name::scoped(quoted_name);
}

Result<std::int64_t> Lexer::integer(std::string_view what) {
  std::size_t start = position();
  if (const auto value = parse_number<std::int64_t>(take_number())) return *value;
  return fault_at(start, fmt::format("expected {} as a 64-bit integer", what));
}

Failure Lexer::fault(std::string_view message) {
  return fault_at(position(), message);
}

Failure Lexer::fault_at(std::size_t position, std::string_view message) const {
  std::string_view before = text_.substr(0, position);
  auto line = std::ranges::count(before, '\n') + 1;
  std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  return failure("parse", fmt::format("{}:{}:{}", file_name_, line, position - line_start + 1), message);
}

}  // namespace depute::text
