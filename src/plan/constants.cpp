#include "plan/constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "plan/data_file.h"

namespace depute {
namespace {

// Returns the data with dimensions ordered from outermost to innermost; the result is contiguous.
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

bool ConstantPool::place(PlanTensor& tensor, Name key, const TensorData& data, const TensorType& type,
                         bool is_output) {
  auto elements = type.static_numel();
  const std::optional<std::size_t> file = find_file(files_, key.str());
  if (!file || is_output || !elements || *elements <= 1) {
    tensor.constant = add(data, type);
    return tensor.constant != 0;
  }
  auto bytes = dense(data, type);
  if (bytes) place_external(tensor, key.str(), *bytes, *file);
  return bytes.has_value();
}

void ConstantPool::place_view(PlanTensor& tensor, const PlanTensor& base, bool is_output) {
  tensor.constant = base.constant;
  if (!base.is_external) return;
  const ExternalConstant& seen = external_[external_names_.at(base.name)];
  const TensorData data = seen.data;
  if (is_output) {
    tensor.constant = add(data, data.type);
  } else {
    place_external(tensor, base.name, data, seen.file);
  }
}

// A name has one layout, which the runtime compares with the program's. Another layout of the same data gets
// a separate name, "weight[6]"; the file stores the bytes once.
void ConstantPool::place_external(PlanTensor& tensor, std::string_view name, const TensorData& dense,
                                  std::size_t file) {
  tensor.is_external = true;
  tensor.name = name;
  auto known = external_names_.find(tensor.name);
  while (known != external_names_.end() && !external_[known->second].tensor.has_layout_of(tensor)) {
    tensor.name += fmt::format("[{}]", fmt::join(tensor.sizes, ", "));
    known = external_names_.find(tensor.name);
  }
  if (known != external_names_.end()) return;
  external_names_.emplace(tensor.name, external_.size());
  external_.push_back({tensor, dense, file});
}

std::uint32_t ConstantPool::add(const TensorData& data, const TensorType& type) {
  std::vector<std::uint64_t> place = {reinterpret_cast<std::uintptr_t>(data.storage.get()),
                                      static_cast<std::uint64_t>(data.offset) * item_size(data.type.dtype),
                                      data.byte_size()};
  if (!data.is_dense()) {
    for (const Dims* dims : {&data.type.sizes, &data.type.strides, &type.strides}) {
      place.push_back(dims->size());
      for (const SymInt& size : *dims) place.push_back(static_cast<std::uint64_t>(size.value()));
    }
    place.push_back(item_size(data.type.dtype));
  }
  auto [entry, is_new] = numbers_.try_emplace(std::move(place), 0U);
  if (!is_new) return entry->second;
  auto bytes = dense(data, type);
  if (!bytes) return 0;
  constants_.push_back(std::move(*bytes));
  entry->second = static_cast<std::uint32_t>(constants_.size());
  return entry->second;
}

}  // namespace depute
