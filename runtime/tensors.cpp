#include "runtime/tensors.h"

namespace depute {

Result<TensorData> data_of(const executorch::aten::Tensor& tensor, const std::string& where) {
  const auto dtype = scalar_type_from_executorch(static_cast<int>(tensor.scalar_type()));
  if (!dtype) return failure("run", where, "its element type is unknown");
  Dims sizes;
  Dims strides;
  for (const auto size : tensor.sizes()) sizes.push_back(size);
  for (const auto stride : tensor.strides()) strides.push_back(stride);
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  if (bytes == nullptr && tensor.nbytes() > 0) return failure("run", where, "it has no data");
  TensorData data{make_tensor(*dtype, std::move(sizes), std::move(strides)), 0,
                  Storage::owned(std::vector<std::byte>(bytes, bytes + tensor.nbytes()))};
  return make_data(make_tensor(*dtype, data.type.sizes), [&] {
    const TensorData dense = data.contiguous();
    const auto view = dense.dense_bytes();
    return std::vector<std::byte>(view.begin(), view.end());
  }());
}

}  // namespace depute
