// Reads sympy's srepr text, the notation of symbolic expressions in .pt2 files.
//
//   Mul(Integer(2), Symbol('s96', positive=True, integer=True))   ->  2*s96
//
// Functions become calls of ir/sym.h, which knows torch's functions and simplifies; unknown functions are
// kept by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "depute/program/result.h"
#include "depute/program/sym.h"

namespace depute {

// Returns the expression of a symbol. `least` is the minimum value that its assumptions allow: 1 for
// positive=True, 0 for nonnegative=True, otherwise Range::min_bound.
using SymbolSource = std::function<const SymExpr*(std::string_view name, std::int64_t least)>;

// Fails with the column of the error, also for nesting deeper than max_sym_depth.
Result<const SymExpr*> parse_srepr(std::string_view text, const SymbolSource& symbols);

// Returns the key of an expression in Ranges: the bare name of a symbol, or the text of another expression.
std::string range_key(const SymExpr* expr);

}  // namespace depute
