// Intervals of integers and of floats, and the walk that finds those of an expression (sym_bounds.cpp); the
// rows of functions are written in them.
//
// Integers saturate at the ends of int64, which mean "unknown"; intervals of floats are closed and widened by
// one step at every operation.
#pragma once

#include <limits>
#include <string_view>
#include <unordered_map>

#include "depute/sym.h"

namespace depute::sym {

inline constexpr Range everything = {};

Range negate(Range range);
Range hull(Range a, Range b);
Range add(Range a, Range b);
Range multiply(Range a, Range b);
Range floor_divide(Range a, Range b);
Range remainder(Range a, Range b);
Range raise(Range base, const SymExpr* exponent);

// Infinite ends are unknown.
struct FloatRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

FloatRange add(FloatRange a, FloatRange b);
FloatRange multiply(FloatRange a, FloatRange b);
FloatRange divide(FloatRange a, FloatRange b);
Range to_range(FloatRange range, double (*round)(double));

// The bounds of expressions for given ranges of symbols.
class Bounder {
 public:
  explicit Bounder(const Ranges& ranges);
  Range of(const SymExpr* expr) const;
  FloatRange of_float(const SymExpr* expr) const;

 private:
  void add_constraint(std::string_view key, Range range);
  void remember(const SymExpr* expr, Range range);
  Range plain(const SymExpr* expr) const;
  Range of_call(const SymExpr* expr) const;

  const Ranges& ranges_;
  std::unordered_map<const SymExpr*, Range> known_;
};

}  // namespace depute::sym
