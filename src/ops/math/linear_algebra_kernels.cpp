// Kernels of matrix products; all use one function on batches of matrices.
//
//   aten.linear.default(x: f32[5, 3, 8], w: f32[4, 8])  is  x times w transposed, f32[5, 3, 4]
#include <fmt/format.h>

#include <algorithm>

#include "kernels/kernel_call.h"
#include "kernels/products.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// `a` has sizes [batch..., rows, inner] and `b` [batch..., inner, columns], broadcast over the batch.
struct Factors {
  TensorData a;
  TensorData b;
  Shape sizes;  // of the product
  std::size_t batch = 1;
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
};

Result<Factors> make_factors(const TensorData& a, const TensorData& b) {
  Shape a_sizes = sizes_of(a);
  Shape b_sizes = sizes_of(b);
  if (a_sizes.size() < 2 || b_sizes.size() < 2)
    return bad_arguments("a matrix product requires operands of rank 2 or more");
  std::int64_t rows = a_sizes.end()[-2];
  std::int64_t inner = a_sizes.back();
  std::int64_t columns = b_sizes.back();
  if (inner != b_sizes.end()[-2]) {
    return bad_arguments(
        fmt::format("the inner sizes {} and {} of a matrix product differ", inner, b_sizes.end()[-2]));
  }
  a_sizes.resize(a_sizes.size() - 2);
  b_sizes.resize(b_sizes.size() - 2);
  Factors factors;
  TRY(Shape batch, broadcast_sizes(a_sizes, b_sizes));
  a_sizes = b_sizes = factors.sizes = batch;
  a_sizes.insert(a_sizes.end(), {rows, inner});
  b_sizes.insert(b_sizes.end(), {inner, columns});
  factors.sizes.insert(factors.sizes.end(), {rows, columns});
  auto count = checked_count(batch);
  if (!count || !checked_count(a_sizes) || !checked_count(b_sizes))
    return bad_arguments("a matrix product has too many elements");
  factors.a = broadcast_to(a, a_sizes);
  factors.b = broadcast_to(b, b_sizes);
  factors.batch = *count;
  factors.rows = static_cast<std::size_t>(rows);
  factors.inner = static_cast<std::size_t>(inner);
  factors.columns = static_cast<std::size_t>(columns);
  return factors;
}

// The right matrices of a product in f32, which are often views of transposed weights.
struct RightMatrix {
  const float* first;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

// Copies some columns of it in the order in which they lie in memory.
void copy_tile(const RightMatrix& b, std::size_t rows, std::size_t columns, std::span<double> tile) {
  if (b.column_stride == 1) {
    for (std::size_t k = 0; k < rows; ++k)
      std::copy_n(b.first + static_cast<std::int64_t>(k) * b.row_stride, columns,
                  tile.begin() + static_cast<std::ptrdiff_t>(k * tile_columns));
    return;
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const float* element = b.first + static_cast<std::int64_t>(c) * b.column_stride;
    for (std::size_t k = 0; k < rows; ++k, element += b.row_stride)
      tile[k * tile_columns + c] = static_cast<double>(*element);
  }
}

// Adds a product of two matrices, a tile of columns at a time.
void multiply_tiles(const Factors& f, std::size_t rows, const float* a, RightMatrix b, double* out) {
  std::vector<double> tile(f.inner * tile_columns);
  for (std::size_t first = 0; first < f.columns; first += tile_columns) {
    const std::size_t columns = std::min(tile_columns, f.columns - first);
    copy_tile(b, f.inner, columns, tile);
    add_products({.a = a,
                  .rows = rows,
                  .inner = f.inner,
                  .tile = tile.data(),
                  .out = out + first,
                  .out_stride = f.columns,
                  .columns = columns});
    b.first += static_cast<std::int64_t>(columns) * b.column_stride;
  }
}

// The right matrix where it lies, if all of the batch share it and it can be read there.
std::optional<RightMatrix> shared_matrix(const Factors& f, std::span<const std::byte> bytes) {
  const Shape strides = strides_of(f.b);
  const bool is_shared = f.batch == 1 || std::all_of(strides.begin(), strides.end() - 2,
                                                     [](auto stride) { return stride == 0; });
  if (!is_shared || f.b.type.dtype != ScalarType::F32 || f.inner * f.columns == 0) return std::nullopt;
  const std::byte* first = bytes.data() + static_cast<std::size_t>(f.b.offset) * sizeof(float);
  if (reinterpret_cast<std::uintptr_t>(first) % alignof(float) != 0) return std::nullopt;
  return RightMatrix{reinterpret_cast<const float*>(first), strides.end()[-2], strides.back()};
}

std::vector<double> multiply_floats(const Factors& f) {
  const Elements<float> a(f.a);
  std::vector<double> product(f.batch * f.rows * f.columns, 0);
  const StorageBytes bytes(f.b.storage);
  if (const auto shared = shared_matrix(f, bytes.span())) {
    multiply_tiles(f, f.batch * f.rows, a.span().data(), *shared, product.data());
    return product;
  }
  const Elements<float> b(f.b);
  for (std::size_t i = 0; i < f.batch; ++i)
    multiply_tiles(f, f.rows, a.span().data() + i * f.rows * f.inner,
                   {b.span().data() + i * f.inner * f.columns, static_cast<std::int64_t>(f.columns), 1},
                   product.data() + i * f.rows * f.columns);
  return product;
}

// Returns the product in row-major order.
template <typename T>
std::vector<Sum<T>> multiply(const Factors& f) {
  if constexpr (std::is_same_v<T, float>) return multiply_floats(f);
  Elements<T> a(f.a);
  Elements<T> b(f.b);
  std::vector<Sum<T>> product(f.batch * f.rows * f.columns, 0);
  for (std::size_t row = 0; row < f.batch * f.rows; ++row) {
    Sum<T>* out = product.data() + row * f.columns;
    const T* matrix = b.span().data() + row / std::max<std::size_t>(f.rows, 1) * f.inner * f.columns;
    for (std::size_t k = 0; k < f.inner; ++k) {
      auto factor = static_cast<Sum<T>>(a[row * f.inner + k]);
      for (std::size_t column = 0; column < f.columns; ++column) {
        out[column] =
            wrap_add(out[column], wrap_mul(factor, static_cast<Sum<T>>(matrix[k * f.columns + column])));
      }
    }
  }
  return product;
}

// Returns alpha * product + beta * added; `added` is optional. `sizes` are the sizes of the result.
Contents product_of(const KernelCall& call, const Factors& factors, const Shape& sizes,
                    std::optional<TensorData> added, double beta, double alpha) {
  ScalarType dtype = call.result_type();
  TRY(Domain domain, domain_of(dtype));
  for (const TensorData* operand : {&factors.a, &factors.b}) {
    TRY_STATUS(check_arithmetic(operand->type.dtype));
  }
  if (added) {
    TRY_STATUS(check_arithmetic(added->type.dtype));
    TRY(Shape common, broadcast_sizes(factors.sizes, sizes_of(*added)));
    if (common != factors.sizes) return bad_arguments("the added tensor does not broadcast to the product");
    added = broadcast_to(*added, factors.sizes);
  }
  return in_domain(domain, [&]<typename T>(T) {
    return one(call.dense(dtype, sizes, [factors, added, beta, alpha, dtype] {
      std::vector<Sum<T>> product = multiply<T>(factors);
      for (Sum<T>& x : product) x = wrap_mul(x, static_cast<Sum<T>>(alpha));
      if (added && beta != 0) {
        Elements<T> more(*added);
        for (std::size_t i = 0; i < product.size(); ++i) {
          product[i] =
              wrap_add(product[i], wrap_mul(static_cast<Sum<T>>(beta), static_cast<Sum<T>>(more[i])));
        }
      }
      return pack<Sum<T>>(dtype, product);
    }));
  });
}

Contents plain_product(const KernelCall& call, const TensorData& a, const TensorData& b) {
  TRY(Factors factors, make_factors(a, b));
  return product_of(call, factors, factors.sizes, std::nullopt, 0, 1);
}

Contents mm(const KernelCall& call) {
  return plain_product(call, call.tensor("self"), call.tensor("mat2"));
}

Contents addmm(const KernelCall& call) {
  TRY(Factors factors, make_factors(call.tensor("mat1"), call.tensor("mat2")));
  return product_of(call, factors, factors.sizes, call.tensor("self"), call.number("beta"),
                    call.number("alpha"));
}

Contents baddbmm(const KernelCall& call) {
  TRY(Factors factors, make_factors(call.tensor("batch1"), call.tensor("batch2")));
  return product_of(call, factors, factors.sizes, call.tensor("self"), call.number("beta"),
                    call.number("alpha"));
}

// Inserts a dimension of size 1 before `dim`.
TensorData with_dim(const TensorData& data, std::size_t dim) {
  Shape sizes = sizes_of(data);
  Shape strides = strides_of(data);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  return with_shape(data, sizes, strides, data.offset);
}

// Multiplies vectors as matrices of one row or column, and removes that dimension from the result.
Contents product_with_vectors(const KernelCall& call, TensorData a, TensorData b) {
  bool is_row = a.type.rank() == 1;
  bool is_column = b.type.rank() == 1;
  if (is_row) a = with_dim(a, 0);
  if (is_column) b = with_dim(b, 1);
  TRY(Factors factors, make_factors(a, b));
  Shape sizes = factors.sizes;
  if (is_row) sizes.erase(sizes.end() - 2);
  if (is_column) sizes.pop_back();
  return product_of(call, factors, sizes, std::nullopt, 0, 1);
}

Contents matmul(const KernelCall& call) {
  return product_with_vectors(call, call.tensor("self"), call.tensor("other"));
}
Contents mv(const KernelCall& call) {
  return product_with_vectors(call, call.tensor("self"), call.tensor("vec"));
}
Contents dot(const KernelCall& call) {
  return product_with_vectors(call, call.tensor("self"), call.tensor("tensor"));
}

Contents linear(const KernelCall& call) {
  TensorData input = call.tensor("input");
  TensorData weight = call.tensor("weight");
  if (weight.type.rank() != 2 || input.type.rank() < 1) return bad_arguments("the weight must have rank 2");
  Shape sizes = sizes_of(weight);
  Shape strides = strides_of(weight);
  std::swap(sizes[0], sizes[1]);
  std::swap(strides[0], strides[1]);
  weight = with_shape(weight, sizes, strides, weight.offset);
  bool is_row = input.type.rank() == 1;
  if (is_row) input = with_dim(input, 0);
  TRY(Factors factors, make_factors(input, weight));
  Shape result_sizes = factors.sizes;
  if (is_row) result_sizes.erase(result_sizes.end() - 2);
  return product_of(call, factors, result_sizes, call.optional_tensor("bias"), 1, 1);
}

}  // namespace

std::span<const KernelLine> linear_algebra_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.mm.default", mm},           {"aten.bmm.default", mm},        {"aten.addmm.default", addmm},
      {"aten.baddbmm.default", baddbmm}, {"aten.matmul.default", matmul}, {"aten.mv.default", mv},
      {"aten.dot.default", dot},         {"aten.linear.default", linear},
  };
  return lines;
}

}  // namespace depute::internal
