// The rules of every file in ops/, for find_op_rule. The build writes the list.
#pragma once

#include <span>
#include <vector>

#include "op_rule.h"

namespace depute::xnnpack {

std::vector<std::span<const OpRule>> op_rule_families();

}  // namespace depute::xnnpack
