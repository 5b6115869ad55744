// Where ResultCache keeps its entries: a folder (folder_store.h) or an HTTP server (http_store.h). A store knows names
// and bytes; what is in an entry, and whether it is whole, is ResultCache's matter.
//
//   TRY(auto store, open_store({.store = "http://host:8080/depute"}));
//   TRY(auto file, store->find("5f1c.result"));    // null: the store has no such entry
//   const auto write = [&](Output& out) { return out.write(bytes); };
//   TRY_STATUS(store->keep("5f1c.result", write));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "depute/compiler/to_backend.h"
#include "depute/program/result.h"
#include "support/mapped_file.h"
#include "support/output.h"

namespace depute {

// Returns place/name, for a folder or a URL.
std::string joined(std::string_view place, std::string_view name);

class ResultStore {
 public:
  explicit ResultStore(std::string place) : place_(std::move(place)) {}
  virtual ~ResultStore() = default;

  // The folder, or the URL without user and password.
  const std::string& place() const { return place_; }
  std::string place_of(const std::string& name) const;

  virtual Result<std::shared_ptr<const MappedFile>> find(const std::string& name) = 0;
  // The entry appears as a whole, or not at all.
  virtual Status keep(const std::string& name, const std::function<Status(Output&)>& write) = 0;

 private:
  std::string place_;
};

// Opens the store of `options`, which names one. Fails if the folder cannot be created, or the URL is invalid.
Result<std::unique_ptr<ResultStore>> open_store(const CacheOptions& options);

}  // namespace depute
