// What joins a profile of the emitted program with the user's model: for each instruction the debug handles
// of the nodes it executes, and for each handle the line of Python it comes from. As JSON; docs/cli.md
// describes it.
#pragma once

#include <string>

#include "depute/program.h"
#include "plan/plan.h"

namespace depute {

// `plan` is the plan of `lowered`; `file` is the name of the file it was written to.
std::string debug_map_json(const Program& lowered, const Plan& plan, const std::string& file);

}  // namespace depute
