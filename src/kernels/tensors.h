// Reads elements of constant tensors as numbers to compute with, and converts numbers to elements.
//
//   Elements<float> x(data);                    // any element type, any strides: f32 in row-major order
//   for (float number : x) ...
//   std::vector<std::byte> bytes = pack<float>(ScalarType::F16, numbers);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "depute/program/data.h"
#include "depute/program/result.h"
#include "depute/program/small_vector.h"

namespace depute::internal {

// Sizes, strides or dimensions, all static.
using Shape = SmallVector<std::int64_t, 6>;

Shape sizes_of(const TensorData& data);
Shape strides_of(const TensorData& data);  // also for a contiguous tensor
Shape dense_strides(const Shape& sizes);
std::size_t count_of(const TensorData& data);  // number of elements
Dims as_dims(const Shape& shape);

// Returns a view of the same storage with other sizes and strides.
TensorData with_shape(const TensorData& data, const Shape& sizes, const Shape& strides, std::int64_t offset);
// Broadcasts `data` to `sizes`, which must be compatible.
TensorData broadcast_to(const TensorData& data, const Shape& sizes);
Result<Shape> broadcast_sizes(const Shape& a, const Shape& b);

// Wraps a negative dimension, which counts from the end; a 0-d tensor has one dimension, 0.
Result<std::size_t> checked_dim(std::int64_t dim, std::size_t rank);

// Returns a kernel error; the message says which arguments are invalid.
Failure bad_arguments(std::string_view message);

// Provides the bytes of a storage for one use. A lazy storage with no other users does not keep its bytes.
class StorageBytes {
 public:
  explicit StorageBytes(const std::shared_ptr<const Storage>& storage);
  std::span<const std::byte> span() const { return view_; }

 private:
  std::vector<std::byte> produced_;
  std::span<const std::byte> view_;
};

// Calls row(position, stride, count) for the rows along the last dimension, in order. `position` counts
// elements.
template <typename Row>
void for_each_row(const Shape& sizes, const Shape& strides, std::int64_t offset, Row&& row) {
  for (std::int64_t size : sizes) {
    if (size == 0) return;
  }
  std::size_t rank = sizes.size();
  if (rank == 0) {
    row(offset, std::int64_t{1}, std::int64_t{1});
    return;
  }
  Shape index(rank, 0);
  std::int64_t position = offset;
  while (true) {
    row(position, strides[rank - 1], sizes[rank - 1]);
    std::size_t dim = rank - 1;
    while (dim > 0) {
      --dim;
      position += strides[dim];
      if (++index[dim] < sizes[dim]) break;
      position -= strides[dim] * sizes[dim];
      index[dim] = 0;
      if (dim == 0) return;
    }
    if (rank == 1) return;
  }
}

// Types for computing: Float also covers smaller floats, Int covers all integers and bools.
enum class Domain : std::uint8_t { Float, Double, Int };

// Fails for element types without arithmetic here: complex numbers and u64.
Result<Domain> domain_of(ScalarType dtype);
Status check_arithmetic(ScalarType dtype);

// Calls visit(T{}) with T the domain's type.
template <typename Visit>
auto in_domain(Domain domain, Visit&& visit) {
  switch (domain) {
    case Domain::Float:
      return visit(float{});
    case Domain::Double:
      return visit(double{});
    case Domain::Int:
      return visit(std::int64_t{});
  }
  return visit(float{});
}

// The elements in row-major order, converted to T: float, double or std::int64_t. Contiguous elements of type
// T are not copied. The element type must have a domain.
template <typename T>
class Elements {
 public:
  explicit Elements(const TensorData& data);
  std::size_t size() const { return view_.size(); }
  const T& operator[](std::size_t i) const { return view_[i]; }
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  std::span<const T> span() const { return view_; }

 private:
  StorageBytes bytes_;
  std::vector<T> converted_;
  std::span<const T> view_;
};

// Converts numbers to elements of a tensor. Floats are rounded to nearest even, or truncated to integers;
// integers wrap; nonzero numbers are true.
template <typename T>
std::vector<std::byte> pack(ScalarType dtype, std::span<const T> numbers);

// Copies the elements of `data` to out[offset + sum of index * stride]; offset and strides count elements.
void copy_elements(const TensorData& data, std::span<std::byte> out, std::int64_t offset,
                   const Shape& out_strides);

// Returns a 0-d tensor.
TensorData scalar_data(std::int64_t number);
TensorData scalar_data(double number);
TensorData scalar_data(bool truth);

// --- integers that wrap around

inline std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrap_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
inline float wrap_add(float a, float b) {
  return a + b;
}
inline float wrap_sub(float a, float b) {
  return a - b;
}
inline float wrap_mul(float a, float b) {
  return a * b;
}
inline double wrap_add(double a, double b) {
  return a + b;
}
inline double wrap_sub(double a, double b) {
  return a - b;
}
inline double wrap_mul(double a, double b) {
  return a * b;
}

// Type of sums of T.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, std::int64_t>, std::int64_t, double>;

}  // namespace depute::internal
