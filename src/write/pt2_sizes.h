// Serializes symbolic sizes for torch's schema: expressions with an example value (hint), and ranges of symbols.
//
//   s0 in [1, 64]
//     ->  {"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 2}}}
//
// Torch requires a hint for each size: a number that it assumes while it reads. Equal hints would mean equal
// sizes, so each symbol gets a distinct prime.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "depute/program/sym.h"

namespace depute {

// Represents infinities and NaN as strings, since JSON lacks them.
nlohmann::ordered_json pt2_float(double value);

class Pt2Sizes {
 public:
  // `is_infix`: ExecuTorch's older schema has "2*s0 + 1" in place of sympy's srepr.
  explicit Pt2Sizes(const Ranges& ranges, bool is_infix = false) : ranges_(ranges), is_infix_(is_infix) {}

  nlohmann::ordered_json size(const SymInt& size);
  nlohmann::ordered_json expression(const SymExpr* expr);
  // The ranges of the expressions whose symbols were all serialized.
  nlohmann::ordered_json ranges() const;
  const std::map<std::string, std::int64_t, std::less<>>& hints() const { return hints_; }

 private:
  std::string text(const SymExpr* expr) const;
  void choose_hint(const std::string& symbol);

  const Ranges& ranges_;
  bool is_infix_;
  std::set<std::string> met_;
  std::set<std::int64_t> taken_;
  std::map<std::string, std::int64_t, std::less<>> hints_;
};

}  // namespace depute
