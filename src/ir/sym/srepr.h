// Prints symbolic expressions in sympy's srepr format, which torch reads from .pt2 files:
//
//   2*s0 + 1   ->   "Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(1))"
#pragma once

#include <string>

#include "depute/program/sym.h"

namespace depute {

// `ranges` decide whether a symbol is marked as positive or nonnegative.
std::string srepr(const SymExpr* expr, const Ranges& ranges);

}  // namespace depute
