// Random programs that are sound and use everything the program model has, for property tests.
#pragma once

#include <cstdint>

#include "depute/program/program.h"

namespace depute {

// The same program for the same seed. Larger `size` means more nodes.
Program random_program(std::uint32_t seed, int size = 12);

}  // namespace depute
