// Findings that code hosts show beside a model's lines: violated requirements and locks, nodes that the
// runtime rejects, and undelegated nodes by line, op and reason. SARIF and GitHub annotations use them.
#pragma once

#include <vector>

#include "depute/tools/report.h"
#include "tools/document/document.h"

namespace depute {

// Returns errors first.
std::vector<Finding> findings_of(const Report& report);

}  // namespace depute
