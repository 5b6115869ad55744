// Constants that the program itself changes.
#pragma once

#include <unordered_set>

#include "depute/program.h"

namespace depute {

// The keys of the data that some method stores to.
std::unordered_set<Symbol> mutated_data(const Program& program);

}  // namespace depute
