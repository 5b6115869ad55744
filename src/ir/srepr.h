// Symbolic expressions as sympy's srepr writes them, which is what torch reads from a .pt2 file:
//
//   2*s0 + 1   ->   "Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(1))"
#pragma once

#include <string>

#include "depute/sym.h"

namespace depute {

// The ranges tell of each symbol whether it is positive.
std::string srepr(const SymExpr* expr, const Ranges& ranges);

}  // namespace depute
