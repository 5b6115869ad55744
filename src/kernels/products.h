// Sums of products in f64 of matrices in f32, for matrix products and convolutions.
//
//   out[r][c] += a[r][0] * b[0][c] + a[r][1] * b[1][c] + ...
//
// Each sum is taken in this order, and the product of two f32 is exact in f64, so the result is the same bit for bit with and
// without the CPU's vectors and fused instructions. No library promises that, and integers that are chosen by measured noise have to
// be the same on all machines.
#pragma once

#include <cstddef>
#include <span>

namespace depute::internal {

// Columns of the right matrix that are multiplied at once: tile[k * tile_columns + c] is b[k][c].
inline constexpr std::size_t tile_columns = 8;

struct TileProduct {
  const float* a;  // rows of `inner` elements
  std::size_t rows;
  std::size_t inner;
  const double* tile;  // inner * tile_columns elements
  double* out;         // rows of `out_stride` elements
  std::size_t out_stride;
  std::size_t columns;  // of `out` to add to, at most tile_columns
};

void add_products(const TileProduct& product);

}  // namespace depute::internal
