// Formats the options of a lowering as on the command line.
//
//   {.backends = {{"xnnpack", {}, {{"mode", "fx"}}}}, .joint_planning = true}
//     ->  --backend xnnpack:mode=fx --together
#pragma once

#include <string>
#include <vector>

#include "depute/compiler/compiler.h"

namespace depute {

// Returns the backend options of the command line. Arguments with special characters are quoted for a shell.
std::string backend_flags(const LowerOptions& options);

// Returns all options that affect the program, in the order in which they apply: one "--option value" each,
// unquoted.
std::vector<std::string> deciding_options(const LowerOptions& options);

}  // namespace depute
