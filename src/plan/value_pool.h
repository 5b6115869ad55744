// Appends values to a plan. Numbers, strings and lists are added once and shared by all instructions; each
// tensor and each result of symbolic arithmetic is a separate value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  // Indices of existing Tensor values; in an optional list, -1 means None.
  std::int32_t tensor_list(std::span<const std::int64_t> values, bool is_optional);

  // Values that are not shared.
  std::int32_t add(EValue value);
  std::int32_t add_tensor(PlanTensor tensor);
  // Adds a number that an instruction sets.
  std::int32_t add_scalar(EValue::Kind kind);

 private:
  std::int32_t shared(EValue value, std::string key);
  std::int32_t shared_items(EValue::Kind kind, std::span<const std::int64_t> values);

  ExecutionPlan* plan_;
  std::unordered_map<std::string, std::int32_t> shared_;  // by kind and content
};

}  // namespace depute
