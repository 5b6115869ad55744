// Joins a profile of the emitted program with the user's model: debug handles of each instruction's nodes,
// and the Python line of each handle. The format is JSON, described in docs/cli.md.
#pragma once

#include <string>

#include "depute/program/program.h"
#include "plan/plan.h"
#include "read/read_debug_map.h"

namespace depute {

DebugMap make_debug_map(const Program& lowered, const Plan& plan, const std::string& file);
// `plan` is the plan of `lowered`; `file` is the name of the output file.
std::string debug_map_json(const Program& lowered, const Plan& plan, const std::string& file);

}  // namespace depute
