// The value of symbolic expressions for given symbols: evaluate((s0//2) + 1, {s0: 7}) is 4. Integers that
// overflow and functions without arithmetic here have no value.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "depute/sym.h"
#include "ir/sym_internal.h"

namespace depute {
namespace {

using sym::Number;
using Numbers = std::span<const Number>;
using Answer = std::optional<Number>;

Answer to_integer(double real) {
  if (!(real >= -0x1p63 && real < 0x1p63)) return std::nullopt;
  return Number::of(static_cast<std::int64_t>(real));
}

bool any_float(Numbers args) {
  return std::ranges::any_of(args, &Number::is_float);
}

Answer add_all(Numbers args) {
  Number total = Number::of(std::int64_t{0});
  for (const Number& arg : args) {
    if (total.is_float || arg.is_float) {
      total = Number::of(total.as_double() + arg.as_double());
    } else if (__builtin_add_overflow(total.integer, arg.integer, &total.integer)) {
      return std::nullopt;
    }
  }
  return total;
}

Answer multiply_all(Numbers args) {
  Number total = Number::of(std::int64_t{1});
  for (const Number& arg : args) {
    if (total.is_float || arg.is_float) {
      total = Number::of(total.as_double() * arg.as_double());
    } else if (__builtin_mul_overflow(total.integer, arg.integer, &total.integer)) {
      return std::nullopt;
    }
  }
  return total;
}

bool divides(Number a, Number b) {
  return !a.is_float && !b.is_float && b.integer != 0 && !(a.integer == Range::min_bound && b.integer == -1);
}

Answer power(Number base, Number exponent) {
  if (base.is_float || exponent.is_float) return Number::of(std::pow(base.as_double(), exponent.as_double()));
  if (exponent.integer < 0) return std::nullopt;
  std::int64_t result = 1;
  std::int64_t square = base.integer;
  for (std::int64_t e = exponent.integer; e > 0; e >>= 1) {
    if ((e & 1) && __builtin_mul_overflow(result, square, &result)) return std::nullopt;
    if (e > 1 && __builtin_mul_overflow(square, square, &square)) return std::nullopt;
  }
  return Number::of(result);
}

Answer shift(Number a, Number b, bool left) {
  if (a.is_float || b.is_float || b.integer < 0) return std::nullopt;
  if (!left) return Number::of(a.integer >> std::min<std::int64_t>(b.integer, 63));
  if (a.integer == 0) return a;
  std::int64_t result = 0;
  if (b.integer > 62 || __builtin_mul_overflow(a.integer, std::int64_t{1} << b.integer, &result))
    return std::nullopt;
  return Number::of(result);
}

Answer true_division(Number a, Number b) {
  if (b.as_double() == 0) return std::nullopt;
  return Number::of(a.as_double() / b.as_double());
}

// The one of two numbers that `wanted` orders first; floats only when one is.
template <typename Before>
Answer extremum(Numbers args, Before wanted) {
  if (args.empty()) return std::nullopt;
  if (!any_float(args)) return *std::ranges::min_element(args, wanted, &Number::integer);
  return Number::of(std::ranges::min(args, wanted, &Number::as_double).as_double());
}

std::partial_ordering order(Number a, Number b) {
  if (a.is_float || b.is_float) return a.as_double() <=> b.as_double();
  return a.integer <=> b.integer;
}

Answer truth_number(bool value) {
  return Number::of(std::int64_t{value});
}

bool is_true(const Number& number) {
  return number.as_double() != 0;
}

Answer apply_unary(std::string_view f, Number x) {
  if (f == "Not") return truth_number(!is_true(x));
  if (f == "ToFloat") return Number::of(x.as_double());
  if (f == "Identity") return x;
  if (f == "TruncToInt") return x.is_float ? to_integer(std::trunc(x.real)) : x;
  if (f == "FloorToInt") return x.is_float ? to_integer(std::floor(x.real)) : x;
  if (f == "CeilToInt") return x.is_float ? to_integer(std::ceil(x.real)) : x;
  if (f == "RoundToInt") return x.is_float ? to_integer(std::nearbyint(x.real)) : x;
  if (f == "TruncToFloat") return Number::of(std::trunc(x.as_double()));
  if (f == "OpaqueUnaryFn_sqrt") return Number::of(std::sqrt(x.as_double()));
  return std::nullopt;
}

Answer apply_binary(std::string_view f, Number a, Number b) {
  if (f == "FloorDiv") {
    if (!divides(a, b)) return std::nullopt;
    return Number::of(sym::floor_quotient(a.integer, b.integer));
  }
  if (f == "CeilDiv") {
    if (!divides(a, b)) return std::nullopt;
    return Number::of(sym::floor_quotient(a.integer, b.integer) +
                      (sym::floor_remainder(a.integer, b.integer) != 0));
  }
  if (f == "Mod") {
    if (!divides(a, b)) return std::nullopt;
    return Number::of(sym::floor_remainder(a.integer, b.integer));
  }
  if (f == "Pow") return power(a, b);
  if (f == "FloatPow") return Number::of(std::pow(a.as_double(), b.as_double()));
  if (f == "LShift" || f == "RShift") return shift(a, b, f == "LShift");
  if (f == "IntTrueDiv" || f == "FloatTrueDiv" || f == "Rational") return true_division(a, b);
  if (f == "Eq") return truth_number(order(a, b) == 0);
  if (f == "Ne") return truth_number(order(a, b) != 0);
  if (f == "Lt") return truth_number(order(a, b) < 0);
  if (f == "Le") return truth_number(order(a, b) <= 0);
  if (f == "Gt") return truth_number(order(a, b) > 0);
  if (f == "Ge") return truth_number(order(a, b) >= 0);
  return std::nullopt;
}

struct Evaluator {
  const std::map<std::string, std::int64_t, std::less<>>& symbols;

  Answer value(const SymExpr* expr) const {
    switch (expr->kind) {
      case SymExpr::Kind::Int:
        return Number::of(expr->int_value);
      case SymExpr::Kind::Float:
        return Number::of(expr->float_value);
      case SymExpr::Kind::Symbol: {
        auto found = symbols.find(expr->name.str());
        if (found == symbols.end()) return std::nullopt;
        return Number::of(found->second);
      }
      case SymExpr::Kind::Call:
        break;
    }
    if (expr->name == "Piecewise") return piecewise(expr);
    if (expr->name == "Where" && expr->args.size() == 3) {
      Answer condition = value(expr->args[0]);
      if (!condition) return std::nullopt;
      return value(expr->args[is_true(*condition) ? 1 : 2]);
    }
    std::vector<Number> args;
    for (const SymExpr* arg : expr->args) {
      Answer number = value(arg);
      if (!number) return std::nullopt;
      args.push_back(*number);
    }
    return sym::apply(expr->name.str(), args);
  }

  Answer piecewise(const SymExpr* expr) const {
    for (const SymExpr* branch : expr->args) {
      if (!sym::is_call(branch, "ExprCondPair") || branch->args.size() != 2) return std::nullopt;
      Answer condition = value(branch->args[1]);
      if (!condition) return std::nullopt;
      if (is_true(*condition)) return value(branch->args[0]);
    }
    return std::nullopt;
  }
};

}  // namespace

std::int64_t sym::floor_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t sym::floor_remainder(std::int64_t a, std::int64_t b) {
  std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool sym::is_predicate(std::string_view f) {
  return f == "Eq" || f == "Ne" || f == "Lt" || f == "Le" || f == "Gt" || f == "Ge" || f == "And" ||
         f == "Or" || f == "Not" || f == "true" || f == "false";
}

std::optional<Number> sym::apply(std::string_view f, Numbers args) {
  if (f == "Add") return add_all(args);
  if (f == "Mul") return multiply_all(args);
  if (f == "Max") return extremum(args, std::greater<>());
  if (f == "Min") return extremum(args, std::less<>());
  if (f == "And") return truth_number(std::ranges::all_of(args, is_true));
  if (f == "Or") return truth_number(std::ranges::any_of(args, is_true));
  if (f == "true" || f == "false") return truth_number(f == "true");
  if (args.size() == 1) return apply_unary(f, args[0]);
  if (args.size() == 2) return apply_binary(f, args[0], args[1]);
  return std::nullopt;
}

std::optional<std::int64_t> evaluate(const SymInt& value,
                                     const std::map<std::string, std::int64_t, std::less<>>& symbols) {
  if (value.is_constant()) return value.value();
  Answer result = Evaluator{symbols}.value(value.expr());
  if (!result) return std::nullopt;
  if (!result->is_float) return result->integer;
  if (result->real != std::trunc(result->real)) return std::nullopt;
  Answer integer = to_integer(result->real);
  return integer ? std::optional(integer->integer) : std::nullopt;
}

}  // namespace depute
