// What goes over the borders of delegates, by pairs of owners.
#pragma once

#include <vector>

#include "depute/program.h"
#include "depute/report.h"

namespace depute {

// In the order of the calls; of a report that has the verdicts of all backends.
std::vector<BoundaryReport> boundaries_of(const Report& report, const Program& lowered);

// Whether a summary tells of them: of one backend alone explain and the page do.
bool has_several_backends(const Report& report);

}  // namespace depute
