// Evaluates symbolic expressions for given symbols: evaluate((s0//2) + 1, {s0: 7}) is 4. Overflows and
// functions without arithmetic have no value.
#include <cmath>
#include <optional>

#include "depute/program/sym.h"
#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"

namespace depute {

std::optional<sym::Number> sym::Evaluator::value(const SymExpr* expr) const {
  switch (expr->kind) {
    case SymExpr::Kind::Int:
      return Number::of(expr->int_value);
    case SymExpr::Kind::Float:
      return Number::of(expr->float_value);
    case SymExpr::Kind::Symbol: {
      auto found = symbols_.find(expr->name.str());
      if (found == symbols_.end()) return std::nullopt;
      return Number::of(found->second);
    }
    case SymExpr::Kind::Call:
      break;
  }
  const FunctionRow& row = row_of(expr->function);
  if (!row.takes(expr->args.size())) return std::nullopt;
  if (row.lazy_value != nullptr) return row.lazy_value(*this, expr->args);
  if (row.value == nullptr) return std::nullopt;
  std::vector<Number> args;
  for (const SymExpr* arg : expr->args) {
    auto number = value(arg);
    if (!number) return std::nullopt;
    args.push_back(*number);
  }
  return row.value(args);
}

std::optional<bool> sym::Evaluator::holds(const SymExpr* condition) const {
  auto number = value(condition);
  return number ? std::optional(number->is_true()) : std::nullopt;
}

std::optional<std::int64_t> evaluate(const SymInt& value,
                                     const std::map<std::string, std::int64_t, std::less<>>& symbols) {
  if (value.is_constant()) return value.value();
  auto result = sym::Evaluator(symbols).value(value.expr());
  if (!result) return std::nullopt;
  if (!result->is_float) return result->integer;
  if (result->real != std::trunc(result->real)) return std::nullopt;
  auto integer = sym::to_integer(result->real);
  return integer ? std::optional(integer->integer) : std::nullopt;
}

}  // namespace depute
