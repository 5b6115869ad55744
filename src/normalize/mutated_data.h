// Finds constants that the program changes.
#pragma once

#include <unordered_set>

#include "depute/program/program.h"

namespace depute {

// Returns the keys of the data that some method stores to.
std::unordered_set<Name> mutated_data(const Program& program);

}  // namespace depute
