// A value's tensor as the runtime declares it: sizes as numbers, upper bounds where they are symbolic.
//
//   f32[s0, 3], s0 in [1, 64]      ->  [64, 3], bounded, 768 bytes
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program.h"
#include "schema/execution_plan.h"

namespace depute {

struct BoundedTensor {
  PlanTensor tensor;  // without a place
  std::uint64_t bytes = 0;
};

// A node that cannot be executed; null: the cause is an input of the method.
struct RefusedNode {
  const Node* node = nullptr;
  Diagnostic cause;
};

// Bounds the tensors of one method. Adds to `refused` each tensor that the runtime cannot hold: a size
// without an upper bound, more than 2^31 elements along a dimension, an element type or a layout it does not
// know.
class TensorBounds {
 public:
  TensorBounds(Ranges ranges, Symbol method) : ranges_(std::move(ranges)), method_(method) {}

  // Always returns a tensor of the value's rank, so that planning goes on to further faults. Each symbol
  // without a bound is refused once: later values are bounded as if it had a small one.
  BoundedTensor bound(const Value& value, std::vector<RefusedNode>& refused);

 private:
  Ranges ranges_;
  Symbol method_;
};

// A diagnostic of the planner about a node (or, for null, a graph input named in the message).
Failure plan_error(Symbol method, const Node* node, std::string_view message, std::string_view hint = {});

}  // namespace depute
