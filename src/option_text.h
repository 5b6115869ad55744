// Options of a lowering as the command line writes them.
//
//   {.backends = {{"xnnpack", {}, {{"mode", "fx"}}}}, .plan_together = true}
//     ->  --backend xnnpack:mode=fx --together
#pragma once

#include <string>
#include <vector>

#include "depute/compiler.h"

namespace depute {

// The part of a command line that asks for the backends. Anything but plain characters is quoted for a shell.
std::string backend_flags(const LowerOptions& options);

// All that decide what becomes of a program, in the order in which they apply: one "--option value" each,
// without quotes.
std::vector<std::string> deciding_options(const LowerOptions& options);

}  // namespace depute
