// Checks the invariants of a program, one function each, and reports every violation with its node and place.
#pragma once

#include <string_view>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// Lists and maps inside each other that an argument may have: Graph refuses more with a CHECK, and readers
// refuse less than that.
inline constexpr int max_argument_depth = 256;

// Empty when the program is sound: nothing that is null, definitions before uses in the same graph, specs
// that match inputs and outputs, data for every constant input that fits its storage, bodies and delegates
// that exist, positive dense ranks, ... Takes any program that can be built, in linear
// time. Names need no look: a Graph keeps its values' apart. Delegates' originals are programs of their own.
std::vector<Diagnostic> verify(const Program& program);

// Fails with this code if the program's text left out the bytes of a constant: such a program can be read and
// compared, not compiled.
Status check_data_is_there(const Program& program, std::string_view code);

}  // namespace depute
