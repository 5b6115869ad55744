// Narrows the ranges of dynamic sizes as requested by the user.
//
//   ranges {"s0": [2, inf]}, bounds {"s0": [1, 2048]}      ->      ranges {"s0": [2, 2048]}
#pragma once

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Fails for a symbol that is in no size of the program and for a range disjoint from the program's. Fails for
// a range beyond the upper bound for which torch exported the program.
Status narrow_ranges(Program& program, const Ranges& bounds);

}  // namespace depute
