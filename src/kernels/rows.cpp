#include "kernels/rows.h"
#include "support/try.h"

#include <algorithm>

namespace depute::internal {
namespace {

enum class Along : std::uint8_t { Dropped, One };

Rows make_rows(const TensorData& data, const std::vector<bool>& is_along, Along along) {
  Rows rows;
  Shape sizes = sizes_of(data);
  Shape strides = strides_of(data);
  Shape order_sizes, order_strides, along_sizes, along_strides;
  rows.count = rows.length = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (is_along[dim]) {
      rows.along.push_back(dim);
      rows.length *= static_cast<std::size_t>(sizes[dim]);
      if (along == Along::One) rows.sizes.push_back(1);
      along_sizes.push_back(sizes[dim]);
      along_strides.push_back(strides[dim]);
    } else {
      rows.count *= static_cast<std::size_t>(sizes[dim]);
      rows.sizes.push_back(sizes[dim]);
      order_sizes.push_back(sizes[dim]);
      order_strides.push_back(strides[dim]);
    }
  }
  order_sizes.insert(order_sizes.end(), along_sizes.begin(), along_sizes.end());
  order_strides.insert(order_strides.end(), along_strides.begin(), along_strides.end());
  rows.data = with_shape(data, order_sizes, order_strides, data.offset);
  return rows;
}

}  // namespace

Result<Rows> rows_of(const KernelCall& call, const TensorData& data) {
  std::size_t rank = data.type.rank();
  Shape dims = call.has("dim") ? call.ints("dim") : Shape();
  std::vector<bool> is_along(std::max<std::size_t>(rank, 1), dims.empty());
  for (std::int64_t wanted : dims) {
    TRY(std::size_t dim, checked_dim(wanted, rank));
    is_along[dim] = true;
  }
  bool keeps = call.has("keepdim") && call.boolean("keepdim");
  return make_rows(data, is_along, keeps ? Along::One : Along::Dropped);
}

Result<Rows> rows_along(const TensorData& data, std::int64_t wanted) {
  TRY(std::size_t dim, checked_dim(wanted, data.type.rank()));
  std::vector<bool> is_along(std::max<std::size_t>(data.type.rank(), 1), false);
  is_along[dim] = true;
  return make_rows(data, is_along, Along::One);
}

TensorData in_place(const Rows& rows, const TensorData& result) {
  Shape sizes = sizes_of(result);
  Shape strides = strides_of(result);
  std::size_t kept = 0;
  std::size_t along = sizes.size() - rows.along.size();
  Shape new_sizes, new_strides;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    std::size_t from = std::ranges::find(rows.along, dim) != rows.along.end() ? along++ : kept++;
    new_sizes.push_back(sizes[from]);
    new_strides.push_back(strides[from]);
  }
  return with_shape(result, new_sizes, new_strides, result.offset);
}

}  // namespace depute::internal
