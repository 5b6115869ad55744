// What only the planner knows of a report.
#pragma once

#include <vector>

#include "depute/report.h"
#include "plan/plan.h"

namespace depute {

// Lists what the planner refused, and makes "no-kernel" the owner of nodes that no kernel of the runtime can
// execute, "refused" of nodes that it cannot for another reason. A node that was decomposed after the
// backends were asked is refused when what it became is.
void add_refusals(Report& report, const Program& lowered, const std::vector<Refusal>& refusals);

}  // namespace depute
