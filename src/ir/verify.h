// Checks the invariants of a program and reports every violation with its node and place.
#pragma once

#include <string_view>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Maximum nesting of lists and maps in an argument. Graph CHECKs it; readers enforce smaller limits.
inline constexpr int max_argument_depth = 256;

// Returns all violations; empty for a valid program. Invariants are for example: no null pointers;
// definitions before uses in the same graph; specs match inputs and outputs; every constant input has data
// that fit their storage; bodies and delegates exist; sizes are not negative.
// Accepts any program that can be built; takes linear time. Value names are not checked, because Graph keeps
// them unique. Original subprograms of delegates are not visited.
std::vector<Diagnostic> verify(const Program& program);

// Fails with this code if the program's text form omits bytes of a constant. Such a program can be read and
// compared, but not compiled.
Status check_data_is_there(const Program& program, std::string_view code);

}  // namespace depute
