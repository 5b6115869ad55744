#include "read/pt2/srepr.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "ir/sym/sym_functions.h"
#include "platform/parse_number.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// An argument of a call: an expression, or a bare number or text for constructors of leaves.
struct Item {
  const SymExpr* expr = nullptr;
  std::string_view text;
  bool is_text = false;
};

struct Keyword {
  std::string_view name;
  std::string_view value;
};

struct Call {
  std::string_view function;
  std::vector<Item> items;
  std::vector<Keyword> keywords;

  bool has_true(std::string_view keyword) const {
    for (const Keyword& k : keywords) {
      if (k.name == keyword && k.value == "True") return true;
    }
    return false;
  }
};

class SreprParser {
 public:
  SreprParser(std::string_view text, const SymbolSource& symbols) : text_(text), symbols_(symbols) {}

  Result<const SymExpr*> parse() {
    TRY(Item item, item_at(1));
    skip_space();
    if (at_ != text_.size()) return fail("unexpected text after the expression");
    if (item.is_text) return fail("expected an expression, got a string");
    return item.expr;
  }

 private:
  Failure fail(std::string_view what) const {
    return failure("read_srepr", "",
                   fmt::format("{} at column {} of the expression {}", what, at_ + 1, quote(text_)));
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view name() {
    skip_space();
    std::size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  Result<Item> item_at(std::uint32_t depth) {
    if (depth > max_sym_depth)
      return fail(fmt::format("nesting exceeds the limit max_sym_depth, {},", max_sym_depth));
    if (take('\'')) return quoted();
    std::string_view word = name();
    if (word.empty()) return fail("a name or number is missing");
    if (take('(')) {
      Call call{.function = word, .items = {}, .keywords = {}};
      TRY_STATUS(arguments(call, depth));
      TRY(const SymExpr* expr, build(call));
      return Item{.expr = expr, .text = {}};
    }
    // sympy writes "true"; Python's "True" is not a sympy expression.
    if (auto function = sym::function_of_word(word); function && sym::name_of(*function) == word) {
      return Item{.expr = sym_call(*function, {}), .text = {}};
    }
    TRY(std::int64_t value, integer(word));
    return Item{.expr = sym_int(value), .text = {}};
  }

  Result<Item> quoted() {
    std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) return fail("a string is not closed");
    Item item{.text = text_.substr(at_, end - at_), .is_text = true};
    at_ = end + 1;
    return item;
  }

  Status arguments(Call& call, std::uint32_t depth) {
    if (take(')')) return {};
    do {
      std::size_t start = at_;
      std::string_view word = name();
      if (!word.empty() && take('=')) {
        call.keywords.push_back({word, name()});
        continue;
      }
      at_ = start;
      TRY(Item item, item_at(depth + 1));
      call.items.push_back(item);
    } while (take(','));
    if (!take(')')) return fail("a comma or a closing bracket is missing");
    return {};
  }

  Result<std::int64_t> integer(std::string_view word) const {
    if (const auto value = parse_number<std::int64_t>(word)) return *value;
    return fail(fmt::format("{} is neither a call nor an integer of 64 bits", quote(word)));
  }

  Result<const SymExpr*> build(const Call& call) const {
    if (call.function == "Symbol") return symbol(call);
    if (call.function == "Float") return floating(call);
    std::vector<const SymExpr*> args;
    for (const Item& item : call.items) {
      if (item.is_text) return fail(fmt::format("{} does not accept a string", quote(call.function)));
      args.push_back(item.expr);
    }
    if (call.function == "Integer") {
      if (args.size() != 1 || args[0]->kind != SymExpr::Kind::Int) return fail("Integer takes one integer");
      return args[0];
    }
    return sym_call(call.function, std::move(args));
  }

  Result<const SymExpr*> symbol(const Call& call) const {
    if (call.items.size() != 1 || !call.items[0].is_text || call.items[0].text.empty()) {
      return fail("Symbol takes one name");
    }
    std::int64_t least = Range::min_bound;
    if (call.has_true("nonnegative")) least = 0;
    if (call.has_true("positive")) least = 1;
    return symbols_(call.items[0].text, least);
  }

  Result<const SymExpr*> floating(const Call& call) const {
    if (call.items.size() != 1 || !call.items[0].is_text) return fail("Float takes one string");
    std::string_view text = call.items[0].text;
    if (const auto value = parse_number<double>(text)) return sym_float(*value);
    return fail(fmt::format("{} is not a floating-point number", quote(text)));
  }

  std::string_view text_;
  const SymbolSource& symbols_;
  std::size_t at_ = 0;
};

}  // namespace

Result<const SymExpr*> parse_srepr(std::string_view text, const SymbolSource& symbols) {
  return SreprParser(text, symbols).parse();
}

std::string range_key(const SymExpr* expr) {
  return expr->kind == SymExpr::Kind::Symbol ? std::string(expr->name.str()) : str(expr);
}

}  // namespace depute
