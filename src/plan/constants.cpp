#include "plan/constants.h"

#include <optional>

namespace depute {
namespace {

// The data seen from outermost to innermost dimension, where it is contiguous.
std::optional<TensorData> in_memory_order(const TensorData& data) {
  auto order = dim_order(data.type);
  if (!order) return std::nullopt;
  Dims sizes;
  for (std::uint8_t dim : *order) sizes.push_back(data.type.sizes[dim]);
  return TensorData{make_tensor(data.type.dtype, std::move(sizes)), data.offset, data.storage};
}

std::optional<TensorData> dense(const TensorData& data, const TensorType& type) {
  if (type.is_contiguous()) return data.contiguous();
  if (type.strides == data.type.strides) return in_memory_order(data);
  return std::nullopt;
}

}  // namespace

std::uint32_t ConstantPool::add(const TensorData& data, const TensorType& type) {
  Hasher place;
  place.add(reinterpret_cast<std::uintptr_t>(data.storage.get()));
  place.add(static_cast<std::uint64_t>(data.offset) * item_size(data.type.dtype));
  place.add(data.byte_size());
  if (!data.is_dense()) {
    for (const Dims* dims : {&data.type.sizes, &data.type.strides, &type.strides}) {
      place.add(dims->size());
      for (const SymInt& size : *dims) place.add(static_cast<std::uint64_t>(size.value()));
    }
    place.add(item_size(data.type.dtype));
  }
  auto [entry, is_new] = numbers_.try_emplace(place.finish(), 0U);
  if (!is_new) return entry->second;
  auto bytes = dense(data, type);
  if (!bytes) return 0;
  constants_.push_back(std::move(*bytes));
  entry->second = static_cast<std::uint32_t>(constants_.size());
  return entry->second;
}

}  // namespace depute
