// Views a tensor as rows: the dimensions that an op reduces are moved to the end, and each position of the
// other dimensions is a row.
//
//   f32[2, 3, 4] along [1]  ->  8 rows of 3, in the order of f32[2, 4]
#pragma once

#include <vector>

#include "kernels/kernel_call.h"

namespace depute::internal {

struct Rows {
  TensorData data;                 // sizes: [kept..., along...]
  Shape sizes;                     // sizes of the result with one element per row
  std::size_t count = 0;           // number of rows
  std::size_t length = 0;          // elements in a row
  std::vector<std::size_t> along;  // dimensions, ascending
};

// Returns rows along the dimensions of the call's argument "dim"; along all if it is missing or empty. With
// "keepdim" these dimensions stay in `sizes`, as 1.
Result<Rows> rows_of(const KernelCall& call, const TensorData& data);
// Returns rows along one dimension, which stays in `sizes`.
Result<Rows> rows_along(const TensorData& data, std::int64_t dim);

// Returns a result of `length` elements per row, laid out like rows.data, with dimensions in the original
// order.
TensorData in_place(const Rows& rows, const TensorData& result);

}  // namespace depute::internal
