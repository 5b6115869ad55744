// Checks the invariants of a program, one function each, and reports every violation with its node and place.
#pragma once

#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace depute {

// Empty when the program is sound: definitions before uses, unique names, specs that match inputs and
// outputs, data for every constant input that fits its storage, bodies and delegates that exist, positive
// dense ranks, ...
std::vector<Diagnostic> verify(const Program& program);

}  // namespace depute
