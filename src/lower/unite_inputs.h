// Gives a delegate's program one input for each parameter, buffer or constant, however often the method had
// it.
//
//   (%one = buffer "count", %two = buffer "count", %x)  ->  (%one = buffer "count", %x)
//
// A backend makes a state for each mutated buffer that comes in, and a copy for each constant.
#pragma once

#include "depute/program.h"

namespace depute {

// Afterwards no two inputs of the method name the same data; the first one stays.
void unite_inputs(Method& method);

}  // namespace depute
