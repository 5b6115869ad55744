// Formats the options of a lowering as on the command line.
//
//   {.backends = {{"xnnpack", {}, {{"mode", "fx"}}}}, .joint_planning = true}
//     ->  --backend xnnpack:mode=fx --together
#pragma once

#include <string>
#include <vector>

#include "depute/compiler/compiler.h"

namespace depute {

// Returns the argument of --backend that parse_backend_argument() reads. A backend that is a program has its path, or with `has_names` its
// name.
std::string backend_argument(const BackendRequest& request, bool has_names = false);

// Quotes a text with special characters for a shell.
std::string shell_word(std::string text);

// Returns the backend options of the command line. Arguments with special characters are quoted for a shell.
std::string backend_flags(const LowerOptions& options);

// Returns all options that affect the program, in the order in which they apply: one "--option value" each,
// unquoted.
std::vector<std::string> deciding_options(const LowerOptions& options);

}  // namespace depute
