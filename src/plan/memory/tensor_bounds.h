// Describes a value's tensor as the runtime declares it: sizes as numbers, symbolic ones by their upper
// bounds.
//
//   f32[s0, 3], s0 in [1, 64]      ->  [64, 3], bounded, 768 bytes
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program/program.h"
#include "schema/execution_plan.h"

namespace depute {

struct BoundedTensor {
  PlanTensor tensor;  // not placed yet
  std::uint64_t bytes = 0;
};

// A node that cannot be executed; null: the cause is an input of the method.
struct RefusedNode {
  const Node* node = nullptr;
  Diagnostic cause;
};

// Bounds the tensors of one method. Adds to `refused` each tensor that the runtime cannot hold: an unbounded
// size, more than 2^31 elements along a dimension, an unknown element type or layout.
class TensorBounds {
 public:
  TensorBounds(Ranges ranges, Name method) : ranges_(std::move(ranges)), method_(method) {}

  // Always returns a tensor of the value's rank, so that planning finds further errors. Each unbounded symbol
  // is refused once; later values assume a small bound for it.
  BoundedTensor bound(const Value& value, std::vector<RefusedNode>& refused);

 private:
  Ranges ranges_;
  Name method_;
};

// Returns a planner error about a node; null: about a graph input that the message names.
Failure plan_error(Name method, const Node* node, std::string_view message, std::string_view hint = {});

}  // namespace depute
