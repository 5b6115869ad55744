// A tensor as rows: the dimensions that an op works along moved behind the others, and each position of the
// others a row of them.
//
//   f32[2, 3, 4] along [1]  ->  8 rows of 3, in the order of f32[2, 4]
#pragma once

#include <vector>

#include "kernels/kernel_call.h"

namespace depute::internal {

struct Rows {
  TensorData data;                 // of sizes kept..., along...
  Shape sizes;                     // of the result with one element a row
  std::size_t count = 0;           // rows
  std::size_t length = 0;          // elements in a row
  std::vector<std::size_t> along;  // dimensions, ascending
};

// Along the dimensions of the call's argument "dim": all when there is none, or none are named. With the
// argument "keepdim" they stay in `sizes`, as 1.
Result<Rows> rows_of(const KernelCall& call, const TensorData& data);
// Along one dimension, which stays in `sizes`.
Result<Rows> rows_along(const TensorData& data, std::int64_t dim);

// A result with `length` elements a row, laid out as rows.data is, seen in the order of dimensions of the
// original.
TensorData in_place(const Rows& rows, const TensorData& result);

}  // namespace depute::internal
