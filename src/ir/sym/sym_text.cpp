// Prints symbolic expressions with as few parentheses as possible, and parses them.
//
//   2*s96 + 1     s0 - s1     (s0//2)     Max(1, s0)     s0**2     Mod(s0, 4)     "odd name" + 1
//
//   relation = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sum      = product {("+" | "-") product}
//   product  = factor {("*" | "//" | "%" | "/") factor}
//   factor   = "-" factor | atom ["**" factor]
//   atom     = int | float | name ["(" [relation {"," relation}] ")"] | "(" relation ")"
//
// Floor division always has its own parentheses. A name is an identifier, or any text in double quotes.
#include <fmt/format.h>

#include <cmath>

#include "depute/program/sym.h"
#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"
#include "ir/text/text.h"
#include "platform/parse_number.h"
#include "support/try.h"

namespace depute {
namespace {

// --- printing

enum class Precedence : std::uint8_t { Sum, Product, Atom };

constexpr std::string_view smallest_integer = "-9223372036854775808";  // its negation does not fit 64 bits

// True for words that are parsed as numbers or truth values unless they are quoted.
bool is_number_word(std::string_view text) {
  return text == "inf" || text == "nan" || sym::function_of_word(text);
}

void print_name(std::string& out, std::string_view name, bool is_function) {
  if (text::is_identifier(name) && (is_function || !is_number_word(name))) {
    out += name;
  } else {
    text::append_quoted(out, name);
  }
}

class SymPrinter {
 public:
  std::string take() { return std::move(out_); }

  void print(const SymExpr* expr, Precedence context) {
    switch (expr->kind) {
      case SymExpr::Kind::Int:
        return number(std::to_string(expr->int_value), context);
      case SymExpr::Kind::Float:
        return number(text::float_text(expr->float_value), context);
      case SymExpr::Kind::Symbol:
        return print_name(out_, expr->name.str(), false);
      case SymExpr::Kind::Call:
        return call(expr, context);
    }
  }

 private:
  void number(const std::string& text, Precedence context) {
    bool parentheses = text[0] == '-' && context == Precedence::Atom;
    out_ += parentheses ? "(" + text + ")" : text;
  }

  void call(const SymExpr* expr, Precedence context) {
    std::size_t count = expr->args.size();
    switch (sym::row_of(expr->function).form) {
      case sym::Form::Call:
        break;
      case sym::Form::Word:
        if (count > 0) break;
        out_ += expr->name.str();
        return;
      case sym::Form::Sum:
        if (count >= 2) return wrapped(expr, context > Precedence::Sum, &SymPrinter::sum);
        break;
      case sym::Form::Product:
        if (count >= 2) return wrapped(expr, context > Precedence::Product, &SymPrinter::product);
        break;
      case sym::Form::Quotient:
        if (count == 2) return wrapped(expr, true, &SymPrinter::quotient);
        break;
      case sym::Form::Power:
        if (count == 2) return wrapped(expr, context == Precedence::Atom, &SymPrinter::power);
        break;
    }
    name_and_arguments(expr);
  }

  void name_and_arguments(const SymExpr* expr) {
    print_name(out_, expr->name.str(), true);
    out_ += '(';
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(expr->args[i], Precedence::Sum);
    }
    out_ += ')';
  }

  void wrapped(const SymExpr* expr, bool parentheses, void (SymPrinter::*body)(const SymExpr*)) {
    if (parentheses) out_ += '(';
    (this->*body)(expr);
    if (parentheses) out_ += ')';
  }

  // Terms with a negative factor are subtracted: s0 - 2*s1 - 3.
  void sum(const SymExpr* expr) {
    print(expr->args[0], Precedence::Product);
    for (std::size_t i = 1; i < expr->args.size(); ++i) {
      const SymExpr* term = expr->args[i];
      std::size_t start = out_.size();
      print(term, Precedence::Product);
      bool has_opposite = !std::string_view(out_).substr(start).starts_with(smallest_integer);
      if (out_[start] == '-' && has_opposite) {
        out_.replace(start, 1, " - ");
      } else {
        out_.insert(start, " + ");
      }
    }
  }

  void product(const SymExpr* expr) {
    std::size_t first = 0;
    if (expr->args[0]->kind == SymExpr::Kind::Int) {
      first = 1;
      out_ += expr->args[0]->int_value == -1 ? "-" : std::to_string(expr->args[0]->int_value) + "*";
    }
    for (std::size_t i = first; i < expr->args.size(); ++i) {
      if (i > first) out_ += '*';
      bool is_power =
          sym::row_of(expr->args[i]->function).form == sym::Form::Power && expr->args[i]->args.size() == 2;
      print(expr->args[i], is_power ? Precedence::Product : Precedence::Atom);
    }
  }

  void quotient(const SymExpr* expr) {
    print(expr->args[0], Precedence::Product);
    out_ += sym::row_of(expr->function).infix;
    print(expr->args[1], Precedence::Atom);
  }

  void power(const SymExpr* expr) {
    print(expr->args[0], Precedence::Atom);
    out_ += sym::row_of(expr->function).infix;
    print(expr->args[1], Precedence::Atom);
  }

  std::string out_;
};

// --- parsing

class SymParser {
 public:
  explicit SymParser(std::string_view text) : text_(text), stand_ins_(sym::stand_ins_made()) {}

  using Parsed = Result<const SymExpr*>;
  using Exprs = std::vector<const SymExpr*>;

  std::size_t position() const { return position_; }

  Parsed relation() {
    if (++nesting_ > max_sym_depth) return too_large("deeper than max_sym_depth", max_sym_depth);
    TRY(const SymExpr* left, sum());
    if (SymFunction relation = infix(sym::Level::Relation); relation != SymFunction::Other) {
      TRY(const SymExpr* right, sum());
      TRY(left, call(relation, {left, right}));
    }
    --nesting_;
    return left;
  }

  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }

  Failure fault(std::string_view message) const {
    return failure("parse_sym", fmt::format("column {}", position_ + 1), message);
  }

 private:
  Parsed sum() {
    Exprs terms;
    bool negative = false;
    do {
      TRY(const SymExpr* term, product());
      if (negative) {
        TRY(term, call(SymFunction::Mul, {sym_int(-1), term}));
      }
      TRY_STATUS(push(terms, term));
      negative = false;
      if (infix(sym::Level::Sum) != SymFunction::Other) continue;
      negative = accept("-");
      if (!negative) break;
    } while (true);
    return terms.size() == 1 ? Parsed(terms[0]) : call(SymFunction::Add, std::move(terms));
  }

  Parsed product() {
    Exprs factors;
    if (minus_before_expression()) factors.push_back(sym_int(-1));
    TRY(const SymExpr* first, factor());
    factors.push_back(first);
    while (true) {
      SymFunction function = infix(sym::Level::Product);
      if (function == SymFunction::Other) break;
      TRY(const SymExpr* right, factor());
      if (function == SymFunction::Mul) {
        TRY_STATUS(push(factors, right));
        continue;
      }
      TRY(const SymExpr* left, joined(factors));
      TRY(left, function == SymFunction::Rational ? fraction(left, right) : call(function, {left, right}));
      factors = {left};
    }
    return joined(factors);
  }

  // Consumes a minus sign that does not belong to a number: -(s0 + 1)*(s1 + 1) is one product with the factor
  // -1.
  bool minus_before_expression() {
    skip_spaces();
    if (!text_.substr(position_).starts_with("-")) return false;
    std::size_t next = text_.find_first_not_of(' ', position_ + 1);
    if (next == std::string_view::npos || text::is_digit(text_[next]) || text_[next] == '.') return false;
    ++position_;
    return true;
  }

  Parsed joined(const Exprs& factors) {
    return factors.size() == 1 ? Parsed(factors[0]) : call(SymFunction::Mul, factors);
  }

  // Makes a / b as in sympy's 1/2*s0.
  Parsed fraction(const SymExpr* left, const SymExpr* right) {
    if (right->kind == SymExpr::Kind::Int) {
      if (left->kind == SymExpr::Kind::Int) return call(SymFunction::Rational, {left, right});
      TRY(const SymExpr* inverse, call(SymFunction::Rational, {sym_int(1), right}));
      return call(SymFunction::Mul, {left, inverse});
    }
    TRY(const SymExpr* inverse, call(SymFunction::Pow, {right, sym_int(-1)}));
    return call(SymFunction::Mul, {left, inverse});
  }

  Parsed factor() {
    skip_spaces();
    if (position_ < text_.size() && text_[position_] == '-') {
      ++position_;
      skip_spaces();
      if (position_ < text_.size() && (text::is_digit(text_[position_]) || text_[position_] == '.'))
        return power(true);
      if (++nesting_ > max_sym_depth) return too_large("deeper than max_sym_depth", max_sym_depth);
      TRY(const SymExpr* positive, factor());
      --nesting_;
      return call(SymFunction::Mul, {sym_int(-1), positive});
    }
    return power(false);
  }

  // `negative`: a minus sign precedes a number. It belongs to the number unless the number is raised to a
  // power.
  Parsed power(bool negative) {
    std::size_t start = position_;
    TRY(const SymExpr* base, negative ? number(true) : atom());
    SymFunction function = infix(sym::Level::Power);
    if (function == SymFunction::Other) return base;
    if (negative) {
      std::size_t behind = position_;
      position_ = start;
      TRY(base, number(false));
      position_ = behind;
    }
    if (++nesting_ > max_sym_depth) return too_large("deeper than max_sym_depth", max_sym_depth);
    TRY(const SymExpr* exponent, factor());
    --nesting_;
    TRY(const SymExpr* result, call(function, {base, exponent}));
    return negative ? call(SymFunction::Mul, {sym_int(-1), result}) : Parsed(result);
  }

  Parsed atom() {
    skip_spaces();
    if (position_ == text_.size()) return fault("an expression is missing");
    char c = text_[position_];
    if (text::is_digit(c) || c == '.') return number(false);
    if (c == '(') {
      ++position_;
      TRY(const SymExpr* inner, relation());
      if (!accept(")")) return fault("expected ')'");
      return inner;
    }
    if (c == '"' || text::is_letter(c)) return named();
    return fault("expected a number, a name or '('");
  }

  Parsed named() {
    bool quoted = text_[position_] == '"';
    std::string name;
    if (quoted) {
      TRY(name, quoted_name());
    } else {
      std::size_t start = position_;
      while (position_ < text_.size() &&
             (text::is_letter(text_[position_]) || text::is_digit(text_[position_])))
        ++position_;
      name = text_.substr(start, position_ - start);
    }
    if (position_ < text_.size() && text_[position_] == '(') return arguments(name);
    if (quoted || !is_number_word(name)) return sym_symbol(name);
    if (name == "inf") return sym_float(HUGE_VAL);
    if (name == "nan") return sym_float(std::nan(""));
    return sym_call(*sym::function_of_word(name), {});
  }

  Parsed arguments(const std::string& function) {
    ++position_;
    Exprs args;
    if (!accept(")")) {
      do {
        TRY(const SymExpr* arg, relation());
        TRY_STATUS(push(args, arg));
      } while (accept(","));
      if (!accept(")")) return fault("expected ',' or ')'");
    }
    return call(function, std::move(args));
  }

  Result<std::string> quoted_name() {
    std::string name;
    for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
      char c = text_[position_];
      if (c == '\n') break;
      if (c == '\\' && !text::read_escape(text_, ++position_, c)) return fault("unknown escape in a name");
      name += c;
    }
    if (position_ >= text_.size() || text_[position_] != '"') return fault("name without closing quote");
    ++position_;
    if (name.empty()) return fault("empty name");
    return name;
  }

  Parsed number(bool negative) {
    std::size_t start = position_;
    bool is_float = false;
    while (position_ < text_.size()) {
      char c = text_[position_];
      bool is_exponent_sign = (c == '+' || c == '-') && position_ > start && text_[position_ - 1] == 'e';
      if (!text::is_digit(c) && c != '.' && c != 'e' && !is_exponent_sign) break;
      is_float |= !text::is_digit(c);
      ++position_;
    }
    std::string text = (negative ? "-" : "") + std::string(text_.substr(start, position_ - start));
    if (is_float) {
      if (const auto value = parse_number<double>(text)) return sym_float(*value);
    } else {
      if (const auto value = parse_number<std::int64_t>(text)) return sym_int(*value);
    }
    position_ = start;
    return fault(is_float ? "not a number" : "an integer that does not fit 64 bits");
  }

  // `function` is a name or an enumerator.
  template <typename Function>
  Parsed call(const Function& function, Exprs args) {
    const SymExpr* expr = sym_call(function, std::move(args));
    if (sym::stand_ins_made() != stand_ins_) return too_large("larger than max_sym_size", max_sym_size);
    return expr;
  }

  Status push(Exprs& exprs, const SymExpr* expr) const {
    if (exprs.size() >= max_sym_size) return too_large("larger than max_sym_size", max_sym_size);
    exprs.push_back(expr);
    return {};
  }

  Failure too_large(std::string_view what, std::uint32_t limit) const {
    return fault(fmt::format("the expression is {} ({})", what, limit));
  }

  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  // Consumes an infix operator of the level; returns Other if there is none.
  SymFunction infix(sym::Level level) {
    skip_spaces();
    SymFunction function = sym::infix_at(text_.substr(position_), level);
    position_ += sym::row_of(function).infix.size();
    return function;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t nesting_ = 0;
  std::uint64_t stand_ins_;
};

}  // namespace

Result<const SymExpr*> sym::parse_prefix(std::string_view text, std::size_t& consumed) {
  SymParser parser(text);
  auto expr = parser.relation();
  consumed = parser.position();
  return expr;
}

std::string str(const SymExpr* expr) {
  SymPrinter printer;
  printer.print(expr, Precedence::Sum);
  return printer.take();
}

Result<const SymExpr*> parse_sym(std::string_view text) {
  SymParser parser(text);
  TRY(const SymExpr* expr, parser.relation());
  if (!parser.at_end()) return parser.fault("unexpected text after the expression");
  return expr;
}

}  // namespace depute
