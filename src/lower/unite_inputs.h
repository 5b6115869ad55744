// Merges the inputs of a delegate's program that refer to the same parameter, buffer or constant.
//
//   (%one = buffer "count", %two = buffer "count", %x)  ->  (%one = buffer "count", %x)
//
// Without this, a backend would create one state per mutated buffer input and one copy per constant input.
#pragma once

#include "depute/program/program.h"

namespace depute {

// Keeps the first input of each parameter, buffer or constant.
void unite_inputs(Method& method);

}  // namespace depute
