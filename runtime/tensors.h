// Tensors between ExecuTorch's runtime and Depute.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <string>

#include "depute/program/data.h"
#include "depute/program/result.h"
#include "schema/execution_plan.h"

namespace depute {

// A copy of the elements, in row-major order. `where` names the tensor in errors.
Result<TensorData> data_of(const executorch::aten::Tensor& tensor, const std::string& where);

// The elements one after the other in the tensor's order of dimensions, as the runtime takes them.
TensorData ordered(const TensorData& data, const PlanTensor& tensor);

}  // namespace depute
