// Limits of Ethos-U processors: operators of TOSA that Vela cannot compile for them, by its report of supported operators.
//
//   GREATER   ->   operator: GREATER on Ethos-U55
#pragma once

#include <string_view>

#include "backends/tosa/graph.h"

namespace depute::ethosu {

// Returns the limits of a processor, "ethos-u55-128" for instance.
tosa::Limit limits_of(std::string_view accelerator);

}  // namespace depute::ethosu
