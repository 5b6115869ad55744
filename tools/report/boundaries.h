// Sums of the tensors that cross delegate borders, by pairs of owners.
#pragma once

#include <vector>

#include "depute/program/program.h"
#include "depute/tools/report.h"

namespace depute {

// Returns sums in the order of calls. The report must have the verdicts of all backends.
std::vector<BoundaryReport> boundaries_of(const Report& report, const Program& lowered);

// True if the summary shows boundaries. With one backend, only explain and the page do.
bool has_several_backends(const Report& report);

}  // namespace depute
