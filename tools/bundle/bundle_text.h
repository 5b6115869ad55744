// Prints the test cases of a bundled program, for `depute show`.
#pragma once

#include <cstdint>
#include <string>

#include "depute/tools/bundle.h"

namespace depute {

// `file_bytes`: size of the file that the bundle was read from.
std::string bundle_text(const Bundle& bundle, std::uint64_t file_bytes);

}  // namespace depute
