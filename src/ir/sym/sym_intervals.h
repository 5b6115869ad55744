// Interval arithmetic for integers and floats, used in the rows of functions, and bounds of expressions
// (sym_bounds.cpp).
//
// Integers saturate at the limits of int64, which mean "unknown". Float intervals are closed and widened by
// one ulp in each operation.
#pragma once

#include <limits>
#include <string_view>
#include <unordered_map>

#include "depute/program/sym.h"

namespace depute::sym {

inline constexpr Range everything = {};

Range negate(Range range);
Range hull(Range a, Range b);
Range add(Range a, Range b);
Range multiply(Range a, Range b);
Range floor_divide(Range a, Range b);
Range remainder(Range a, Range b);
Range raise(Range base, const SymExpr* exponent);

// Infinite limits mean "unknown".
struct FloatRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

FloatRange add(FloatRange a, FloatRange b);
FloatRange multiply(FloatRange a, FloatRange b);
FloatRange divide(FloatRange a, FloatRange b);
Range to_range(FloatRange range, double (*round)(double));

// Computes bounds of expressions for given ranges of symbols.
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
