// Tensors between ExecuTorch's runtime and Depute.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <string>

#include "depute/program/data.h"
#include "depute/program/result.h"

namespace depute {

// A copy of the elements, in row-major order. `where` names the tensor in errors.
Result<TensorData> data_of(const executorch::aten::Tensor& tensor, const std::string& where);

}  // namespace depute
