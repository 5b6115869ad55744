// Appends values to a plan. Numbers, texts and lists are made once and shared by all instructions that need
// them; tensors and results of symbolic arithmetic are values of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/hash.h"
#include "schema/execution_plan.h"

namespace depute {

class ValuePool {
 public:
  explicit ValuePool(ExecutionPlan& plan) : plan_(&plan) {}

  // Shared values.
  std::int32_t null();
  std::int32_t integer(std::int64_t value);
  std::int32_t boolean(bool value);
  std::int32_t number(double value);
  std::int32_t text(std::string_view value);
  std::int32_t int_list(std::span<const std::int64_t> values);  // indices of Int values
  std::int32_t bool_list(std::span<const std::int64_t> values);
  std::int32_t double_list(std::span<const double> values);
  // Indices of Tensor values that exist already; -1 stands for None in an optional one.
  std::int32_t tensor_list(std::span<const std::int64_t> values, bool is_optional);

  // Values of their own.
  std::int32_t add(EValue value);
  std::int32_t add_tensor(PlanTensor tensor);
  // A place for a number that an instruction sets.
  std::int32_t add_scalar(EValue::Kind kind);

 private:
  std::int32_t shared(EValue value, Hash128 key);
  std::int32_t shared_items(EValue::Kind kind, std::span<const std::int64_t> values);

  ExecutionPlan* plan_;
  std::unordered_map<Hash128, std::int32_t> shared_;  // by kind and content
};

}  // namespace depute
