#include "lower/registry.h"

#include <fmt/format.h>

namespace depute {

Status Registry::add(BackendEntry entry) {
  if (find(entry.name) != nullptr) {
    return error("registry", entry.name, "a backend of this name is registered already");
  }
  if (find_backend(entry.backend->id()) != nullptr) {
    return error("registry", entry.name,
                 fmt::format("backend id {} is registered already", entry.backend->id()));
  }
  for (const BackendOpSpec& op : entry.ops) TRY_STATUS(register_backend_op(op));
  entries_.push_back(std::move(entry));
  return {};
}

const BackendEntry* Registry::find(std::string_view name) const {
  for (const BackendEntry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const Backend* Registry::find_backend(std::string_view backend_id) const {
  for (const BackendEntry& entry : entries_) {
    if (entry.backend->id() == backend_id) return entry.backend.get();
  }
  return nullptr;
}

}  // namespace depute
