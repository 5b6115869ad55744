// Adds the planner's refusals to a report.
#pragma once

#include <vector>

#include "depute/report.h"
#include "plan/plan.h"

namespace depute {

// Lists the planner's refusals. Sets the owner of nodes without a runtime kernel to "no-kernel", and of other
// rejected nodes to "refused". A node that was decomposed after the backends were asked counts as rejected if
// one of its parts is.
void add_refusals(Report& report, const Program& lowered, const std::vector<Refusal>& refusals);

}  // namespace depute
