// Finds quotients of sizes that torch simplified as if their divisor were positive:
//
//   u in [-6, 9]:  %q: sym_int<(m + 1)//m> = _operator.floordiv(%a: (m*u + u)//m, %u: u)
//
// is 2 for m = 4 and u = -1, but its type says 1. Sizes are computed from types, so such a program must not be
// lowered.
#pragma once

#include <optional>
#include <string>

#include "depute/program/graph.h"

namespace depute {

// Returns what is wrong if the type of a quotient or remainder differs from that of its operands for numbers within
// `ranges`. Numbers are tried, none is proven.
std::optional<std::string> wrong_quotient(const Node& node, const Ranges& ranges);

}  // namespace depute
