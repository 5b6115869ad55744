// Limits of Ethos-U processors: operators of TOSA that Vela cannot compile for them, by its report of supported operators.
//
//   GREATER   ->   operator: GREATER on Ethos-U55
#pragma once

#include <string_view>

#include "backends/tosa/graph.h"

namespace depute::ethosu {

// Returns what a processor, "ethos-u55-128" for instance, takes of TOSA. "": a processor without limits, for delegates
// whose nodes were checked before.
tosa::Device device_of(std::string_view accelerator);

}  // namespace depute::ethosu
