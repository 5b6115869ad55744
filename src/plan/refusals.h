// Combines all reasons why a program cannot be executed into one Diagnostic.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace depute {

// Returns a single refusal unchanged. Several ones are summarized: nodes without a kernel are grouped by op,
// with their first few source lines. A node refused twice (in a body that runs in two places) counts once.
// `refusals` must not be empty.
Diagnostic summary_of(std::vector<Refusal>& refusals);

}  // namespace depute
