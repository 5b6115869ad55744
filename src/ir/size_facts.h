// What the ranges of symbols tell of sizes: with s0 in [2, 24],
//
//   s0 - Min(1, s0 + 1) + 1      ->     s0
//   1 - Max(0, 1 - s0)           ->     1
//   (24*s0//((24*s0)//5))        ->     5     since 24*s0 is at least 5**2
//
// Result types are computed without ranges, and would not be equal to each other otherwise.
#pragma once

#include <unordered_map>

#include "depute/type.h"
#include "ir/sym_intervals.h"

namespace depute {

class SizeFacts {
 public:
  // `ranges` must outlive the facts; what is said of it later is not seen.
  explicit SizeFacts(const Ranges& ranges) : bounder_(ranges) {}

  // Equal to `expr` for all values in the ranges.
  const SymExpr* simplify(const SymExpr* expr);
  // Sizes, strides and numbers of the type; false when nothing changed.
  bool simplify(Type& type);
  // Makes simplify() write `equal` for `expr`, which has not been simplified yet.
  void equate(const SymExpr* expr, const SymExpr* equal) { simplified_.emplace(expr, equal); }
  Range range_of(const SymExpr* expr) const { return bounder_.of(expr); }

 private:
  const SymExpr* simplify_call(const SymExpr* expr);
  const SymExpr* simplify_extremum(const SymExpr* expr) const;
  const SymExpr* simplify_quotient(const SymExpr* expr) const;
  const SymExpr* simplify_remainder(const SymExpr* expr) const;
  bool simplify(Dims& dims);

  sym::Bounder bounder_;
  std::unordered_map<const SymExpr*, const SymExpr*> simplified_;
};

}  // namespace depute
