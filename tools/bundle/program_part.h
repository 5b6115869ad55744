// The program inside of a bundled program, for commands that read a .pte: they take a .bpte as well.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "depute/program/result.h"

namespace depute {

// The .pte in a bundled program; any other file as it is. Fails like read_bundle(), but does not look at the test cases' values.
Result<std::span<const std::byte>> program_part(std::span<const std::byte> file, const std::string& name);

}  // namespace depute
