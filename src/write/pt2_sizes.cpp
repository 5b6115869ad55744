// Writes symbolic sizes as torch reads them, with a prime as the example value of each symbol.
//
//   s0 + 1   ->   {"expr_str": "Add(Symbol('s0', positive=True, integer=True), Integer(1))"}
//            ->   {"expr_str": "s0 + 1"}                                                  infix
#include "write/pt2_sizes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/sym/srepr.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

bool is_prime(std::int64_t number) {
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

// True for a data-dependent symbol: "u0" or "zuf1", also behind the name of a method.
bool is_unbacked(std::string_view symbol) {
  symbol = symbol.substr(symbol.rfind('.') + 1);
  const std::size_t digits = symbol.find_first_of("0123456789");
  const std::string_view kind = symbol.substr(0, digits);
  return (kind == "u" || kind == "zuf") && digits != symbol.npos &&
         symbol.find_first_not_of("0123456789", digits) == symbol.npos;
}

// Infix text has the symbols of a joined method without a dot, which is Python's for attributes:
// "decode.s0 + 1" -> "decode_s0 + 1".
std::string infix(std::string text, const SymExpr* expr) {
  for (Name symbol : symbols_of(expr)) {
    const std::string name(symbol.str());
    if (name.find('.') == name.npos) continue;
    std::string plain = name;
    std::ranges::replace(plain, '.', '_');
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + name.size()))
      text.replace(at, name.size(), plain);
  }
  return text;
}

Json bound(std::int64_t value, std::int64_t unbounded, bool is_number) {
  return value == unbounded && !is_number ? Json(nullptr) : Json(value);
}

}  // namespace

Json pt2_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json Pt2Sizes::size(const SymInt& size) {
  if (size.is_constant()) return {{"as_int", size.value()}};
  return expression(size.expr());
}

Json Pt2Sizes::expression(const SymExpr* expr) {
  if (expr->kind == SymExpr::Kind::Int) return {{"as_int", expr->int_value}};
  if (expr->kind == SymExpr::Kind::Float) return {{"as_float", pt2_float(expr->float_value)}};
  for (Name symbol : symbols_of(expr)) choose_hint(std::string(symbol.str()));
  Json told = {{"expr_str", text(expr)}};
  if (auto hint = evaluate(SymInt(expr), hints_)) told["hint"] = {{"as_int", *hint}};
  return {{"as_expr", std::move(told)}};
}

Json Pt2Sizes::ranges() const {
  Json told = Json::object();
  for (const auto& [text, range] : ranges_) {
    const auto expr = parse_sym(text);
    if (!expr) continue;
    auto is_met = [&](Name symbol) { return met_.contains(std::string(symbol.str())); };
    if (!std::ranges::all_of(symbols_of(*expr), is_met)) continue;
    told[is_infix_ ? infix(text, *expr) : text] = {
        {"min_val", bound(range.min, Range::min_bound, is_infix_)},
        {"max_val", bound(range.max, Range::max_bound, is_infix_)}};
  }
  return told;
}

std::string Pt2Sizes::text(const SymExpr* expr) const {
  return is_infix_ ? infix(str(expr), expr) : srepr(expr, ranges_);
}

void Pt2Sizes::choose_hint(const std::string& symbol) {
  if (!met_.insert(symbol).second || is_unbacked(symbol)) return;
  const auto found = ranges_.find(symbol);
  const Range range = found == ranges_.end() ? Range{} : found->second;
  const std::int64_t low = std::max<std::int64_t>(range.min, 2);
  std::int64_t hint = low;
  for (std::int64_t i = 0; i < 1000; ++i) {
    if (!is_prime(low + i) || taken_.contains(low + i)) continue;
    hint = low + i;
    break;
  }
  hints_[symbol] = std::min(hint, range.max);
  taken_.insert(hints_[symbol]);
}

}  // namespace depute
