// Parses literals and types.
//
//   literal = %name | @name | number | string | none | true | false | complex(a, b) | device("cuda:0")
//           | operator("cond") | aten.add.Tensor | .f32 | delegate("name") | [..] | {"key": literal, ..}
//   type    = dtype "[" [dim {"," dim}] "]" ["{" "strides" "=" "[" dims "]" "}"]
//           | ("sym_int" | "sym_float" | "sym_bool") ["[" expression "]"] | "custom_obj" "[" string "]"
//           | "none" | "token" | "string" | "int" | "float" | "bool"
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "ir/sym/sym_internal.h"
#include "ir/text/parser.h"
#include "ir/text/spelling.h"
#include "ir/text/text.h"
#include "platform/parse_number.h"
#include "support/try.h"

namespace depute::text {
namespace {

constexpr std::string_view literal_expected =
    "expected a literal: %value, @graph, a number, string, list or map";

}  // namespace

Status Parser::enter() {
  if (++nesting_ <= max_text_nesting) return {};
  return in_.fault(fmt::format("nested deeper than max_text_nesting ({})", max_text_nesting));
}

Result<Argument> Parser::literal(GraphScope& scope) {
  char c = in_.peek();
  if (c == '%') return value_literal(scope);
  if (c == '@') return reference_literal();
  if (c == '"') {
    TRY(std::string text, in_.string("a string"));
    return Argument::text(Argument::Kind::String, Name::scoped(text));
  }
  if (c == '.') return enum_literal();
  if (c == '[') return list_literal(scope);
  if (c == '{') return map_literal(scope);
  if (c == '-' || is_digit(c)) return number_literal();
  if (is_letter(c)) return word_literal(scope);
  return in_.fault(literal_expected);
}

Result<Name> Parser::value_name() {
  TRY_STATUS(in_.expect('%'));
  if (std::string_view plain = in_.take_plain_name(); !plain.empty()) return Name::scoped(plain);
  return in_.name("a value's name");
}

Result<Argument> Parser::value_literal(const GraphScope& scope) {
  std::size_t start = in_.position();
  TRY(Name name, value_name());
  auto found = scope.values.find(name);
  if (found == scope.values.end()) return in_.fault_at(start, fmt::format("unknown value '%{}'", name.str()));
  return Argument::of(found->second);
}

Result<Argument> Parser::reference_literal() {
  std::size_t start = in_.position();
  TRY_STATUS(in_.expect('@'));
  TRY(Name name, in_.name("the name of a graph or delegate"));
  references_.push_back({name, start, true});
  return Argument::text(Argument::Kind::Delegate, name);
}

Result<Argument> Parser::enum_literal() {
  std::size_t start = in_.position();
  TRY_STATUS(in_.expect('.'));
  std::string_view word = in_.take_identifier();
  if (auto dtype = scalar_type_from_name(word)) return Argument::of(*dtype);
  if (auto format = meaning(memory_formats, word)) return Argument::of(*format);
  if (auto layout = meaning(layouts, word)) return Argument::of(*layout);
  return in_.fault_at(start, fmt::format("unknown dtype, memory format or layout '.{}'", word));
}

Result<Argument> Parser::number_literal() {
  std::size_t start = in_.position();
  std::string_view digits = in_.take_number();
  if (digits == "-inf") return Argument::of(-std::numeric_limits<double>::infinity());
  if (digits.find_first_of(".eE") == std::string_view::npos) {
    if (const auto value = parse_number<std::int64_t>(digits)) return Argument::of(*value);
    return in_.fault_at(start, fmt::format("'{}' is not a 64-bit integer", digits));
  }
  if (const auto value = parse_number<double>(digits)) return Argument::of(*value);
  return in_.fault_at(start, fmt::format("'{}' is not a 64-bit float", digits));
}

Result<Argument> Parser::word_literal(GraphScope& scope) {
  std::size_t start = in_.position();
  std::string_view word = in_.take_op();
  if (word == "none") return Argument::none();
  if (word == "true" || word == "false") return Argument::of(word == "true");
  if (word == "inf") return Argument::of(std::numeric_limits<double>::infinity());
  if (word == "nan") return Argument::of(std::numeric_limits<double>::quiet_NaN());
  if (word == "complex") return complex_literal(scope);
  for (auto [name, kind] : {std::pair("device", Argument::Kind::Device),
                            {"operator", Argument::Kind::Operator},
                            {"delegate", Argument::Kind::Delegate}}) {
    if (word != name) continue;
    TRY_STATUS(in_.expect('('));
    std::size_t text_start = in_.position();
    TRY(std::string text, in_.string("a name"));
    if (kind == Argument::Kind::Delegate) references_.push_back({Name::scoped(text), text_start, false});
    TRY_STATUS(in_.expect(')'));
    return Argument::text(kind, Name::scoped(text));
  }
  if (word.find('.') != std::string_view::npos)
    return Argument::text(Argument::Kind::Operator, Name::scoped(word));
  return in_.fault_at(start, literal_expected);
}

Result<Argument> Parser::complex_literal(GraphScope& scope) {
  TRY_STATUS(in_.expect('('));
  std::size_t start = in_.position();
  TRY(Argument real, literal(scope));
  TRY_STATUS(in_.expect(','));
  TRY(Argument imaginary, literal(scope));
  if (!real.is_number() || !imaginary.is_number()) return in_.fault_at(start, "expected two numbers");
  TRY_STATUS(in_.expect(')'));
  return scope.graph->complex(real.as_double(), imaginary.as_double());
}

Result<Argument> Parser::list_literal(GraphScope& scope) {
  TRY_STATUS(enter());
  TRY_STATUS(in_.expect('['));
  std::vector<Argument> elements;
  if (in_.peek() != ']') {
    do {
      TRY(Argument element, literal(scope));
      elements.push_back(element);
    } while (in_.accept(','));
  }
  TRY_STATUS(in_.expect(']'));
  leave();
  return scope.graph->list(elements);
}

Result<Argument> Parser::map_literal(GraphScope& scope) {
  TRY_STATUS(enter());
  TRY_STATUS(in_.expect('{'));
  std::vector<NamedArgument> entries;
  if (in_.peek() != '}') {
    do {
      TRY(std::string key, in_.string("a key"));
      TRY_STATUS(in_.expect(':'));
      TRY(Argument value, literal(scope));
      entries.push_back({Name::scoped(key), value});
    } while (in_.accept(','));
  }
  TRY_STATUS(in_.expect('}'));
  leave();
  return scope.graph->map(entries);
}

// Programs repeat the same types: tensor types are cached by their text up to the first "]".
Result<Type> Parser::type() {
  constexpr std::size_t longest = 80;
  const std::size_t start = in_.position();
  const std::string_view nearby = in_.rest().substr(0, longest);
  const std::string_view text = nearby.substr(0, nearby.find(']') + 1);  // npos + 1 == 0
  if (const auto known = types_.find(text); known != types_.end()) {
    in_.skip(text.size());
    if (in_.peek() != '{') return known->second;  // no strides follow
    in_.go_back(start);
  }
  TRY(Type read, new_type());
  const std::string_view after(text.data() + text.size(), in_.rest().data());
  const bool is_all = read.kind == Type::Kind::Tensor && after.find_first_not_of(" \n") == after.npos;
  if (is_all) types_.emplace(text, read);
  return read;
}

Result<Type> Parser::new_type() {
  std::size_t start = in_.position();
  std::string_view word = in_.take_identifier();
  if (word == "custom_obj") {
    Type object;
    object.kind = Type::Kind::CustomObj;
    TRY_STATUS(in_.expect('['));
    TRY(std::string class_name, in_.string("a class"));
    object.class_name = Name::scoped(class_name);
    TRY_STATUS(in_.expect(']'));
    return object;
  }
  if (in_.peek() == '[' && !word.starts_with("sym_")) {
    TRY(TensorType tensor, tensor_type(word, start));
    return depute::tensor_type(std::move(tensor));
  }
  auto kind = meaning(type_words, word);
  if (!kind)
    return in_.fault_at(start, fmt::format("expected a type, like f32[2, 3] or sym_int, not '{}'", word));
  if (!Type{.kind = *kind}.is_symbolic() || !in_.accept('[')) return sym_type(*kind, nullptr);
  TRY(const SymExpr* expr, expression());
  TRY_STATUS(in_.expect(']'));
  return sym_type(*kind, expr);
}

// `position` is the position of the dtype, which is already consumed.
Result<TensorType> Parser::tensor_type(std::string_view dtype_name, std::size_t position) {
  auto dtype = scalar_type_from_name(dtype_name);
  if (!dtype) return in_.fault_at(position, fmt::format("unknown dtype '{}'", dtype_name));
  Dims sizes;
  TRY_STATUS(dims(sizes));
  Dims strides;
  std::size_t start = in_.position();
  if (in_.accept('{')) {
    TRY_STATUS(in_.expect_word("strides"));
    TRY_STATUS(in_.expect('='));
    TRY_STATUS(dims(strides));
    TRY_STATUS(in_.expect('}'));
    if (strides.size() != sizes.size()) {
      return in_.fault_at(start, fmt::format("{} strides for {} sizes", strides.size(), sizes.size()));
    }
  }
  return make_tensor(*dtype, std::move(sizes), std::move(strides));
}

Status Parser::dims(Dims& dims) {
  std::size_t start = in_.position();
  TRY_STATUS(in_.expect('['));
  if (in_.accept(']')) return {};
  do {
    TRY(SymInt size, dim_expr());
    dims.push_back(size);
  } while (in_.accept(','));
  TRY_STATUS(in_.expect(']'));
  if (dims.size() > max_rank) {
    return in_.fault_at(start, fmt::format("{} dimensions exceed max_rank ({})", dims.size(), max_rank));
  }
  return {};
}

Result<SymInt> Parser::dim_expr() {
  // Fast path: most sizes are plain numbers.
  std::string_view text = in_.rest();
  std::int64_t number = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  auto length = static_cast<std::size_t>(stop - text.data());
  if (status == std::errc() && length < text.size() && (text[length] == ',' || text[length] == ']')) {
    in_.skip(length);
    return SymInt(number);
  }
  TRY(const SymExpr* expr, expression());
  return SymInt(expr);
}

Result<const SymExpr*> Parser::expression() {
  std::size_t start = in_.position();
  std::size_t length = 0;
  auto expr = sym::parse_prefix(in_.rest(), length);
  if (!expr) return in_.fault_at(start + length, expr.error().message);
  in_.skip(length);
  return expr;
}

}  // namespace depute::text
