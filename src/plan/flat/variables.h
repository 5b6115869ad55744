// Finds values that share one place in a flat method: a variable, and the values computed only to be put into
// it.
//
//   %t = aten.sin.default(%x)          writes into the memory of the variable %v
//   control.set(%v, %t)                needs no instruction
//
// This requires that the old content of the variable is not needed once %t is computed. It also requires that
// %t is not needed after the set, when the variable may change again. Otherwise the set copies.
#pragma once

#include "ir/node_order.h"
#include "plan/value_numbers.h"

namespace depute {

// Numbers the values of the graph; values that share a place have the same number.
ValueNumbers number_values(const Graph& graph, const NodeOrder& order);

}  // namespace depute
