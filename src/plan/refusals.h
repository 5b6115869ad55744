// Puts all reasons why a program cannot be executed into one Diagnostic.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace depute {

// A single refusal is what it says; of several, nodes without a kernel are grouped by op, with the first few
// lines of the user's that they come from. A node that was met twice (in a body that runs in two places)
// counts once. `refusals` is not empty.
Diagnostic summary_of(std::vector<Refusal>& refusals);

}  // namespace depute
