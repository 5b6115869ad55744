// Lexer of the text form: reads words, names, strings and numbers, and reports the position of errors.
//
// Blanks, line ends and comments (from ; to the end of the line) only separate tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "depute/program/name.h"
#include "depute/program/result.h"

namespace depute::text {

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file_name) : text_(text), file_name_(file_name) {}

  // --- lookahead: each function first skips to the next token
  bool at_end();
  char peek();              // '\0' at the end
  std::size_t position();   // byte offset of the next token
  std::string_view rest();  // text from the next token on

  // --- optional tokens: consumed if present
  bool accept(char c);
  bool accept_word(std::string_view word);  // a whole identifier
  std::string_view take_identifier();       // [A-Za-z_][A-Za-z0-9_]*, or empty
  std::string_view take_op();               // [A-Za-z_][A-Za-z0-9_.:]*, or empty
  std::string_view take_plain_name();       // [A-Za-z0-9_]+, or empty
  std::string_view take_number();  // characters of a number or of inf, nan, true, false; may be empty
  void skip(std::size_t count) { at_ += count; }
  void go_back(std::size_t position) { at_ = position; }

  // --- required tokens: fail if missing; `what` completes "expected ..."
  Status expect(char c);
  Status expect_word(std::string_view word);
  Result<std::string> string(std::string_view what);
  Result<Name> name(std::string_view what);  // an identifier, or a nonempty string
  Result<std::int64_t> integer(std::string_view what);

  // Error at the next token, or at the byte offset `position`: "[parse] model.ir:12:7: message".
  Failure fault(std::string_view message);
  Failure fault_at(std::size_t position, std::string_view message) const;
  const std::string& file_name() const { return file_name_; }

 private:
  void skip_blanks() {
    const bool is_there = at_ < text_.size() && text_[at_] > ' ' && text_[at_] != ';';
    if (!is_there) skip_blanks_and_comments();
  }
  void skip_blanks_and_comments();
  template <typename Belongs>
  std::string_view take_while(Belongs belongs);

  std::string_view text_;
  const std::string& file_name_;
  std::size_t at_ = 0;
};

}  // namespace depute::text
