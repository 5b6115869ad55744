// What the files of symbolic expressions share: sym.cpp interns them, sym_simplify.cpp makes them canonical,
// sym_eval.cpp computes their values, sym_bounds.cpp their bounds, sym_text.cpp prints and reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "depute/sym.h"

namespace depute::sym {

// A value an expression can take. Truth values are the integers 0 and 1.
struct Number {
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;

  static Number of(std::int64_t value) { return {false, value, 0}; }
  static Number of(double value) { return {true, 0, value}; }
  double as_double() const { return is_float ? real : static_cast<double>(integer); }
};

// The function's value; nothing when it has no arithmetic here, divides by zero or overflows.
std::optional<Number> apply(std::string_view function, std::span<const Number> args);

// True for functions whose value is a truth value: relations, And, Or, Not, true, false.
bool is_predicate(std::string_view function);

// Python's integer division and remainder; the divisor is not 0 and the quotient fits.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b);
std::int64_t floor_remainder(std::int64_t a, std::int64_t b);

// The integer factor of a term (1 when it has none) and the rest: 2*s0*s1 -> 2, s0*s1.
struct Term {
  std::int64_t coefficient;
  const SymExpr* rest;  // null for a number
};
Term split_term(const SymExpr* term);

// The call as it stands, without simplification.
const SymExpr* make_call(Symbol function, std::vector<const SymExpr*> args);

bool is_call(const SymExpr* expr, std::string_view function);

// How many expressions this thread replaced by a stand-in symbol because they were too deep or too large.
std::uint64_t stand_ins_made();

// Reads the longest expression that `text` starts with; `consumed` tells how much that was, or where the
// fault is.
Result<const SymExpr*> parse_prefix(std::string_view text, std::size_t& consumed);

}  // namespace depute::sym
