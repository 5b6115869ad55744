#include "depute/backend/backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "lower/lowering_error.h"
#include "support/try.h"

namespace depute {
namespace {

Status merge(const Program& program, NamedDataStore& store) {
  for (const auto& delegate : program.delegates) {
    std::string owner = fmt::format("delegate {}", delegate->name.str());
    for (const NamedData& data : delegate->named_data) TRY_STATUS(store.add(data, owner));
    if (delegate->original != nullptr) TRY_STATUS(merge(*delegate->original, store));
  }
  return {};
}

}  // namespace

Status NamedDataStore::add(NamedData data, std::string_view owner) {
  LoweringPlace place{.value = owner};
  std::string fault;
  if (data.key.empty()) fault = "has no key";
  if (data.storage == nullptr) fault = "has no bytes";
  if (!is_alignment(data.alignment)) {
    fault = fmt::format("has the alignment {}; expected a power of two from 1 to {}", data.alignment,
                        max_alignment);
  }
  if (!data.external_tag.empty() && !is_external_tag(data.external_tag))
    fault = "has a tag that is not valid in a file name: use letters, digits, '_' and '-'";
  if (std::string_view layout = layout_fault(data); fault.empty() && !layout.empty()) {
    return lowering_error(LoweringFault::BadNamedData, place,
                          fmt::format("its named data \"{}\" is declared as a tensor {}: {}, {} bytes",
                                      data.key, layout, str(*data.layout), data.storage->size()));
  }
  if (!fault.empty()) {
    return lowering_error(
        LoweringFault::BadNamedData, place,
        fmt::format("its named data \"{}\" {}{}", data.key, fault,
                    data.external_tag.empty() ? "" : fmt::format(" (tag \"{}\")", data.external_tag)));
  }
  auto [known, is_new] = known_.try_emplace(data.key, entries_.size());
  if (is_new) {
    entries_.push_back(std::move(data));
    owners_.emplace_back(owner);
    return {};
  }
  NamedData& entry = entries_[known->second];
  if (!have_same_bytes(*entry.storage, *data.storage)) {
    const std::string& other = owners_[known->second];
    return lowering_error(LoweringFault::NamedDataConflict, place,
                          fmt::format("its named data \"{}\" differs from the data of {} with the same key",
                                      data.key, other.empty() ? "an earlier entry" : other),
                          "derive each key from the bytes");
  }
  entry.alignment = std::max(entry.alignment, data.alignment);
  if (data.external_tag.empty()) entry.external_tag.clear();
  if (!entry.layout) entry.layout = std::move(data.layout);
  return {};
}

Status NamedDataStore::add(std::string_view key, std::shared_ptr<const Storage> storage,
                           std::size_t alignment) {
  return add({.key = std::string(key), .storage = std::move(storage), .alignment = alignment});
}

Status NamedDataStore::add(std::string_view key, const TensorData& tensor, std::size_t alignment) {
  NamedData data{.key = std::string(key), .storage = dense_bytes(tensor), .alignment = alignment};
  data.layout = make_tensor(tensor.type.dtype, tensor.type.sizes);
  return add(std::move(data));
}

Result<NamedDataStore> merge_named_data(const Program& program) {
  NamedDataStore store;
  TRY_STATUS(merge(program, store));
  return store;
}

}  // namespace depute
