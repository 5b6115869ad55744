// Internal interface of symbolic expressions: sym.cpp interns them, sym_simplify.cpp simplifies, sym_eval.cpp
// evaluates, sym_bounds.cpp computes bounds, sym_text.cpp prints and parses. Facts about single functions are
// in the rows of sym_functions.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/sym.h"

namespace depute::sym {

using Exprs = std::vector<const SymExpr*>;

// Value of an expression. Truth values are the integers 0 and 1.
struct Number {
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;

  static Number of(std::int64_t value) { return {false, value, 0}; }
  static Number of(double value) { return {true, 0, value}; }
  double as_double() const { return is_float ? real : static_cast<double>(integer); }
  bool is_true() const { return as_double() != 0; }
};

// Truncates a number to an integer; nullopt if it does not fit 64 bits.
std::optional<Number> to_integer(double real);

// Evaluates expressions for given symbols.
class Evaluator {
 public:
  using Symbols = std::map<std::string, std::int64_t, std::less<>>;
  explicit Evaluator(const Symbols& symbols) : symbols_(symbols) {}
  std::optional<Number> value(const SymExpr* expr) const;
  std::optional<bool> holds(const SymExpr* condition) const;

 private:
  const Symbols& symbols_;
};

// Python's integer division and remainder. The divisor must not be 0, and the quotient must fit 64 bits.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b);
std::int64_t floor_remainder(std::int64_t a, std::int64_t b);

// Splits a term into its integer factor (1 if it has none) and the rest: 2*s0*s1 -> 2, s0*s1.
struct ScaledTerm {
  std::int64_t coefficient;
  const SymExpr* rest;  // null for a number
};
ScaledTerm split_term(const SymExpr* term);

// True unless the value is known to be an integer: the rules of integer division do not hold for 1/2*s0.
bool may_be_fractional(const SymExpr* expr);

// The call as it stands, without simplification; one of a family of functions has its own name.
const SymExpr* make_call(SymFunction function, std::vector<const SymExpr*> args);
const SymExpr* make_call(SymFunction function, Name name, std::vector<const SymExpr*> args);

inline bool is_call(const SymExpr* expr, SymFunction function) {
  return expr->kind == SymExpr::Kind::Call && expr->function == function;
}

// Simplification rules of single functions (sym_simplify.cpp), used in their rows.
namespace rules {
const SymExpr* sum(SymFunction function, const Exprs& args);
const SymExpr* product(SymFunction function, const Exprs& args);
const SymExpr* power(SymFunction function, const Exprs& args);
const SymExpr* floor_div(SymFunction function, const Exprs& args);
const SymExpr* ceil_div(SymFunction function, const Exprs& args);
const SymExpr* mod(SymFunction function, const Exprs& args);
const SymExpr* modular_indexing(SymFunction function, const Exprs& args);
const SymExpr* extremum(SymFunction function, const Exprs& args);
const SymExpr* relation(SymFunction function, const Exprs& args);
const SymExpr* where(SymFunction function, const Exprs& args);
}  // namespace rules

// Number of expressions that this thread replaced by a symbol because they were too deep or too large.
std::uint64_t stand_ins_made();
std::size_t count_expressions();  // in the table of the process

// Parses the longest expression at the start of `text`. `consumed` becomes its length, or the position of the
// error.
Result<const SymExpr*> parse_prefix(std::string_view text, std::size_t& consumed);

}  // namespace depute::sym
