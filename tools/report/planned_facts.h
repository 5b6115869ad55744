// The facts about a plan that the report shows.
#pragma once

#include "depute/tools/report.h"
#include "plan/plan.h"

namespace depute {

PlannedFacts planned_facts(const Plan& plan);

}  // namespace depute
