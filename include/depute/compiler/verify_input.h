// Verifies a program from outside (read from a file, or built by a caller) before other steps rely on it.
//
//   DEPUTE_TRY_STATUS(verify_input(program));
//
// Public functions that take a Program call it first, for example Compiler::load(), normalize() and to_backend().
// Steps that take a stage (stages.h) do not: a stage holds a verified program.
#pragma once

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Maximum nesting of delegates in delegates.
inline constexpr std::size_t max_delegate_depth = 32;

// Fails with the first error found:
// - a violated invariant of verify();
// - a call of a known op whose arguments or results do not fit its schema or its inference rule;
// - an op of the compiler's own, except for calls of an existing delegate with fitting arguments;
// - control flow with bodies that do not fit, nest too deeply or are too many;
// - any of these in a delegate's original subprogram.
Status verify_input(const Program& program);

}  // namespace depute

#pragma GCC visibility pop
