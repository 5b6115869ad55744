// Reads sympy's srepr text, in which .pt2 files write symbolic expressions.
//
//   Mul(Integer(2), Symbol('s96', positive=True, integer=True))   ->  2*s96
//
// Functions become calls of ir/sym.h, which knows torch's vocabulary and simplifies; unknown ones are kept by
// name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "depute/result.h"
#include "depute/sym.h"

namespace depute {

// Gives the expression of a symbol. `least` is the smallest value its assumptions allow: 1 for positive=True,
// 0 for nonnegative=True, Range::min_bound otherwise.
using SymbolSource = std::function<const SymExpr*(std::string_view name, std::int64_t least)>;

// Fails with the column of the fault; nesting deeper than max_sym_depth is refused.
Result<const SymExpr*> parse_srepr(std::string_view text, const SymbolSource& symbols);

// The key of an expression's range in Ranges: the bare name of a symbol, the text of anything else.
std::string range_key(const SymExpr* expr);

}  // namespace depute
