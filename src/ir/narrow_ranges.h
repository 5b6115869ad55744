// Ranges that the user gives to sizes which the program leaves open.
//
//   ranges {"s0": [2, inf]}, bounds {"s0": [1, 2048]}      ->      ranges {"s0": [2, 2048]}
#pragma once

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// Fails for a symbol that no size of the program has, for a range without numbers in common with the
// program's, and for one that goes beyond the program's upper bound, for which torch did not export it.
Status narrow_ranges(Program& program, const Ranges& bounds);

}  // namespace depute
