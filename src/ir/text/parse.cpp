// Parses programs: dimensions, constants, delegates and methods, in any order.
//
//   program = "program" { dim | data | delegate | method }
//   dim     = "dim" name "in" "[" bound "," bound "]"
#include "depute/program/text.h"

#include <fmt/format.h>

#include "ir/text/parser.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute::text {

Result<Program> Parser::whole() {
  TRY_STATUS(in_.expect_word("program"));
  ProgramScope scope(ops_);
  TRY_STATUS(items(scope, '\0'));
  return std::move(scope.program);
}

// Parses items up to the character `end`, which is not consumed; '\0' means the end of the text.
Status Parser::items(ProgramScope& scope, char end) {
  while (in_.peek() != end || (end == '\0' && !in_.at_end())) {
    std::size_t start = in_.position();
    std::string_view word = in_.take_identifier();
    if (word.empty()) return in_.fault("expected dim, data, delegate or method");
    if (word != "dim" && word != "data" && word != "delegate" && word != "method") {
      return in_.fault_at(start, fmt::format("expected dim, data, delegate or method, not '{}'", word));
    }
    TRY_STATUS(item(scope, word));
  }
  for (const auto& [name, position] : scope.delegate_uses) {
    if (scope.delegates.contains(name)) continue;
    return in_.fault_at(position, fmt::format("unknown graph or delegate '{}'", name.str()));
  }
  return {};
}

Status Parser::item(ProgramScope& scope, std::string_view word) {
  if (word == "dim") return dim(scope.program.ranges);
  if (word == "data") return data(scope.program);
  if (word == "delegate") return delegate(scope);
  return method(scope);
}

Status Parser::dim(Ranges& ranges) {
  std::size_t start = in_.position();
  TRY(Name key, in_.name("the dimension's name"));
  TRY_STATUS(in_.expect_word("in"));
  TRY_STATUS(in_.expect('['));
  Range range;
  TRY(range.min, bound());
  TRY_STATUS(in_.expect(','));
  TRY(range.max, bound());
  TRY_STATUS(in_.expect(']'));
  if (!ranges.emplace(key.str(), range).second) {
    return in_.fault_at(start, fmt::format("dim '{}' is declared twice", key.str()));
  }
  return {};
}

Result<std::int64_t> Parser::bound() {
  std::size_t start = in_.position();
  std::string_view word = in_.take_number();
  if (word == "inf") return Range::max_bound;
  if (word == "-inf") return Range::min_bound;
  in_.go_back(start);
  return in_.integer("a bound");
}

}  // namespace depute::text

namespace depute {

Result<Program> parse_program(std::string_view text, const std::string& file_name,
                              const std::shared_ptr<const OpTable>& ops) {
  if (text.size() > max_text_bytes) {
    return failure("parse", file_name,
                   fmt::format("the text has more than max_text_bytes ({}) bytes", max_text_bytes));
  }
  return guarded([&] {
    const NameScope::Use use(NameScope::current_or_new());
    return text::Parser(text, file_name, ops).whole();
  });
}

}  // namespace depute
