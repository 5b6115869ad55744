#include "kernels/products.h"

#include <algorithm>
#include <array>

namespace depute::internal {
namespace {

// Rows that are multiplied at once: their sums and the tile's row fit into 16 registers of 4 numbers.
constexpr std::size_t tile_rows = 4;
constexpr std::size_t vector_size = 4;
constexpr std::size_t vectors = tile_columns / vector_size;

using Vector [[gnu::vector_size(vector_size * sizeof(double))]] = double;

template <std::size_t Rows>
[[gnu::always_inline]] inline void add_rows(const TileProduct& p, std::size_t first) {
  std::array<std::array<Vector, vectors>, Rows> sums;
  std::array<double, tile_columns> row;
  for (std::size_t r = 0; r < Rows; ++r) {
    row = {};
    std::copy_n(p.out + (first + r) * p.out_stride, p.columns, row.begin());
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t c = 0; c < vector_size; ++c) sums[r][v][c] = row[v * vector_size + c];
    }
  }
  const float* a = p.a + first * p.inner;
  for (std::size_t k = 0; k < p.inner; ++k) {
    std::array<Vector, vectors> b;
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t c = 0; c < vector_size; ++c) b[v][c] = p.tile[k * tile_columns + v * vector_size + c];
    }
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto factor = static_cast<double>(a[r * p.inner + k]);
      for (std::size_t v = 0; v < vectors; ++v) sums[r][v] += factor * b[v];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t c = 0; c < vector_size; ++c) row[v * vector_size + c] = sums[r][v][c];
    }
    std::copy_n(row.begin(), p.columns, p.out + (first + r) * p.out_stride);
  }
}

[[gnu::always_inline]] inline void add_all_rows(const TileProduct& p) {
  std::size_t row = 0;
  for (; row + tile_rows <= p.rows; row += tile_rows) add_rows<tile_rows>(p, row);
  for (; row < p.rows; ++row) add_rows<1>(p, row);
}

void add_products_anywhere(const TileProduct& p) {
  add_all_rows(p);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void add_products_with_avx2(const TileProduct& p) {
  add_all_rows(p);
}
#endif

using AddProducts = void (*)(const TileProduct&);

AddProducts fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_products_with_avx2;
#endif
  return add_products_anywhere;
}

}  // namespace

void add_products(const TileProduct& product) {
  static const AddProducts add = fastest();
  add(product);
}

}  // namespace depute::internal
