// Simplifies sizes with the ranges of symbols. With s0 in [2, 24]:
//
//   s0 - Min(1, s0 + 1) + 1      ->     s0
//   1 - Max(0, 1 - s0)           ->     1
//   (24*s0//((24*s0)//5))        ->     5     since 24*s0 is at least 5**2
//
// Needed because types are inferred without ranges, so that equal sizes may have different expressions.
#pragma once

#include <unordered_map>

#include "depute/program/type.h"
#include "ir/sym/sym_intervals.h"

namespace depute {

class SizeFacts {
 public:
  // `ranges` must outlive this object; later changes are ignored.
  explicit SizeFacts(const Ranges& ranges) : bounder_(ranges) {}

  // Returns a simpler expression with the same value for all symbols in their ranges.
  const SymExpr* simplify(const SymExpr* expr);
  // Simplifies sizes, strides and symbolic values of the type. Returns false if nothing changed.
  bool simplify(Type& type);
  // Makes simplify() replace `expr` by `equal`. `expr` must not have been simplified before.
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
