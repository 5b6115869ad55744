// Which values are one place in a flat method: a variable, and what is computed only to be put into it.
//
//   %t = aten.sin.default(%x)          %v and %t are one: sin writes into the variable, and the set is
//   nothing. control.set(%v, %t)
//
// That is right while nobody needs what the variable held before, from the node that makes %t on, and nobody
// needs %t after the set, when the variable may take another content. Where it is not, the set copies.
#pragma once

#include "ir/node_order.h"
#include "plan/value_numbers.h"

namespace depute {

// Numbers for the values of the graph; values that are one place have one number.
ValueNumbers number_values(const Graph& graph, const NodeOrder& order);

}  // namespace depute
