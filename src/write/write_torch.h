// Writes tensors and plain values as torch.save does, a zip archive around a pickle, which torch.load reads with
// weights_only=True.
//
//   {"fc.weight": f32[4, 4]}   ->   archive/data.pkl: {'fc.weight': _rebuild_tensor_v3(storage '0', ...)}
//                                   archive/data/0: 64 bytes
#pragma once

#include <cstddef>
#include <vector>

#include "depute/program/result.h"
#include "depute/program/torch_value.h"

namespace depute {

Result<std::vector<std::byte>> torch_save(const TorchValue& value);

}  // namespace depute
