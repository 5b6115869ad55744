// A value's tensor as the runtime declares it: sizes as numbers, upper bounds where they are symbolic.
//
//   f32[s0, 3], s0 in [1, 64]      ->  [64, 3], bounded, 768 bytes
#pragma once

#include <cstdint>

#include "depute/program.h"
#include "schema/execution_plan.h"

namespace depute {

struct BoundedTensor {
  PlanTensor tensor;  // without a place
  std::uint64_t bytes = 0;
};

// Fails for what the runtime cannot hold: a size without an upper bound, more than 2^31 elements along a
// dimension, an element type or a layout it does not know. `where` is the place for the message.
Result<BoundedTensor> bounded_tensor(const Value& value, const Ranges& ranges, const Symbol& method);

// A diagnostic of the planner about a node (or, for null, a graph input named in the message).
Failure plan_error(Symbol method, const Node* node, std::string_view message, std::string_view hint = {});

}  // namespace depute
