// The facts about a plan that the report shows.
#pragma once

#include "depute/compiler/compiler.h"
#include "depute/tools/report.h"

namespace depute {

PlannedFacts planned_facts(const Executable& executable);

}  // namespace depute
