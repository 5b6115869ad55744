#include "depute/backend/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "depute/backend/pins.h"
#include "depute/program/result.h"
#include "lower/guarded_backend.h"
#include "lower/kernel_manifest.h"
#include "lower/lowering_error.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {

namespace {

// Adds a "did you mean" hint if the backend rejected an option that neither it nor the common options have.
Diagnostic with_meant_option(Diagnostic refused, const BackendEntry& entry, const BackendOptions& options) {
  std::vector<std::string> known;
  for (const auto& [key, meaning] : entry.options) known.push_back(key);
  for (const auto& [key, meaning] : partition_control_meanings()) known.push_back(key);
  for (const auto& [key, value] : options) {
    if (std::ranges::find(known, key) != known.end()) continue;
    refused.hint = did_you_mean(key, known, refused.hint);
    break;
  }
  return refused;
}

// Calls a function of the entry.
template <typename Function>
auto ask(const BackendEntry& entry, std::string_view name, Function&& function) {
  const auto place = [&] {
    return lowering_error(LoweringFault::BackendFailed, {.backend = entry.name, .function = name}, {});
  };
  return call_foreign(place, function);
}

}  // namespace

Result<std::unique_ptr<Partitioner>> make_partitioner(const BackendEntry& entry,
                                                      const BackendOptions& options) {
  if (!entry.make_partitioner) return failure("registry", entry.name, "this backend has no partitioner");
  auto partitioner = ask(entry, "make_partitioner()", [&] { return entry.make_partitioner(options); });
  if (!partitioner) return Failure(with_meant_option(partitioner.error(), entry, options));
  if (*partitioner == nullptr) return failure("registry", entry.name, "its make_partitioner() returned null");
  return guarded_partitioner(entry.name, std::move(*partitioner));
}

Result<std::vector<SupportRow>> support_matrix(const BackendEntry& entry) {
  if (!entry.support)
    return failure("registry", entry.name, "this backend does not provide a support matrix");
  return ask(entry, "support()", entry.support);
}

namespace {

template <typename Add>
Status all_or_nothing(BackendOps& ops, Add add) {
  const BackendOps::Extent before = ops.extent();
  Status added = add();
  if (!added) ops.truncate(before);
  return added;
}

}  // namespace

Status Registry::add(BackendEntry entry) {
  TRY(entry.backend, guarded_backend(std::move(entry.backend)));
  return add_guarded(std::move(entry));
}

Status Registry::add_guarded(BackendEntry entry) {
  if (entry.name.empty()) return failure("registry", "", "the backend has no name");
  if (entry.backend == nullptr) return failure("registry", entry.name, "the entry has no backend");
  if (entry.backend->id().empty()) return failure("registry", entry.name, "the backend's id is empty");
  if (find(entry.name) != nullptr) {
    return failure("registry", entry.name, "a backend with this name is already registered");
  }
  if (find_backend(entry.backend->id()) != nullptr) {
    return failure("registry", entry.name,
                   fmt::format("backend id {} is already registered", entry.backend->id()));
  }
  Status added = all_or_nothing(*ops_, [&]() -> Status {
    for (const std::string& library : entry.libraries) TRY_STATUS(ops_->add_library(library));
    for (const BackendOpSpec& op : entry.ops) TRY_STATUS(ops_->add(op));
    return {};
  });
  if (added) entries_.push_back(std::move(entry));
  return added;
}

Status Registry::put(BackendEntry entry) {
  TRY(entry.backend, guarded_backend(std::move(entry.backend)));
  std::vector<BackendEntry> others;
  std::vector<BackendEntry> replaced;
  for (BackendEntry& each : entries_) {
    const bool goes =
        entry.backend != nullptr && (each.name == entry.name || each.backend->id() == entry.backend->id());
    (goes ? replaced : others).push_back(std::move(each));
  }
  entries_ = std::move(others);
  Status added = add_guarded(std::move(entry));
  if (!added) std::ranges::move(replaced, std::back_inserter(entries_));
  return added;
}

Status Registry::add_kernels(std::string_view manifest, std::string_view name) {
  TRY(std::vector<ManifestOp> ops, parse_kernel_manifest(manifest, name));
  return all_or_nothing(*ops_, [&]() -> Status {
    for (const ManifestOp& op : ops) {
      TRY_STATUS(ops_->add_library(op.library));
      if (Status added = ops_->add(op.spec); !added)
        return manifest_error(name, op.line, added.error().message, added.error().hint);
    }
    return {};
  });
}

Status Registry::replace(std::unique_ptr<Backend> backend) {
  TRY(backend, guarded_backend(std::move(backend)));
  if (backend == nullptr) return failure("registry", "", "the replacement backend is null");
  for (BackendEntry& entry : entries_) {
    if (entry.backend->id() != backend->id()) continue;
    entry.backend = std::move(backend);
    return {};
  }
  return failure("registry", backend->id(), "no backend with this id is registered");
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
