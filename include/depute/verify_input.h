// What a program from outside has to be before any step trusts it: read from a file, or built by a caller.
//
//   DEPUTE_TRY_STATUS(verify_input(program));
//
// The public entry points call it first, unless their options say that the caller has: compile() verifies
// what it reads, once, and tells its steps.
#pragma once

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Delegates whose programs have delegates, and so on, that are accepted.
inline constexpr std::size_t max_delegate_depth = 32;

// The first fault of: the invariants of verify(); calls of known ops that do not fit their schema or their
// rule for result types, in arguments or results; ops of the compiler's own, but for calls of a delegate that
// is there and takes what it is given; control flow whose bodies do not fit, nest too deep or become too
// many; and the same in delegates' own programs.
Status verify_input(const Program& program);

}  // namespace depute

#pragma GCC visibility pop
