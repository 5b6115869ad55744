// The text of a plan, for `depute show` and for tests:
//
//   method forward(%0) -> (%2)
//     memory 1: 48 bytes
//     %0: f32[2, 3] = memory 1 + 0
//     %1: f32[3] = constant 1
//     %2: f32[2, 3] = memory 1 + 0
//     0  aten::add.out(%0, %1, %3=1, %2, %2)
#pragma once

#include <string>

#include "schema/execution_plan.h"

namespace depute {

std::string plan_text(const ExecutionPlan& plan);
// "f32[2, 3]", with what is not default: the order of dimensions, sizes that are bounds.
std::string tensor_text(const PlanTensor& tensor);

// Text with everything but printable ASCII escaped, and the same between quotes.
std::string escaped(std::string_view text);
std::string in_quotes(std::string_view text);

}  // namespace depute
