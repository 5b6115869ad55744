// Checks groups of nodes that a proposal names.
#pragma once

#include <span>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Fails unless each group consists of nodes of one graph of the method. plan_jointly() calls it; other code
// that inspects groups must call it first.
Status check_groups(const Method& method, std::span<const std::vector<const Node*>> groups);

}  // namespace depute
