// What Ethos-U processors lack of TOSA, as Vela's report of supported operators has it: Vela fails for such operators.
//
//   GREATER   ->   operator: GREATER on Ethos-U55
#pragma once

#include <string_view>

#include "backends/tosa/graph.h"

namespace depute::ethosu {

// Returns the limits of a processor, "ethos-u55-128" for instance.
tosa::Limit limits_of(std::string_view accelerator);

}  // namespace depute::ethosu
