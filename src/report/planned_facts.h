// What the report tells of a plan.
#pragma once

#include "depute/report.h"
#include "plan/plan.h"

namespace depute {

PlannedFacts planned_facts(const Plan& plan);

}  // namespace depute
