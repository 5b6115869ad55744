// Prints a plan and describes its tensors, for `depute show` and for tests:
//
//   method forward(%0) -> (%2)
//     memory 1: 48 bytes
//     %0: f32[2, 3] = memory 1 + 0
//     %1: f32[3] = constant 1
//     %2: f32[2, 3] = memory 1 + 0
//     0  aten::add.out(%0, %1, %3=1, %2, %2)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/execution_plan.h"

namespace depute {

std::string plan_text(const ExecutionPlan& plan);
// Returns "f32[2, 3]", with the dimension order and bounded sizes where they are not the default.
std::string tensor_text(const PlanTensor& tensor);
// Bytes of the elements, at upper bounds; an unknown element type counts as a byte. nullopt: more than 64 bits hold.
std::optional<std::uint64_t> byte_size(const PlanTensor& tensor);

// Escapes everything except printable ASCII; in_quotes() also adds the quotes.
std::string escaped(std::string_view text);
std::string in_quotes(std::string_view text);

}  // namespace depute
