// The cache of CacheOptions (to_backend.h): finds and stores backend results by content, in a ResultStore.
//
// An entry has the name KEY.result:
//
//   "DEPUTER3" | u64 offset, u64 size and 16-byte hash of the description | blobs | description (JSON)
//
// The hash includes the key. The description has the position and hash of each blob. Data that equal a constant of the partition are
// stored as its name only: the next lowering has the same constant. Entries are mapped files, so that cached
// results are streamed like weights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "depute/backend/backend.h"
#include "depute/compiler/to_backend.h"
#include "lower/cache/result_store.h"
#include "support/hasher.h"

namespace depute {

class ResultCache {
 public:
  ResultCache() = default;  // caching is disabled
  // Fails if the store cannot be opened. Caching is disabled if `options` names none.
  static Result<ResultCache> open(const CacheOptions& options);

  bool is_open() const { return store_ != nullptr; }
  // Returns nullopt if results are not cached: the backend disables it, or the partition has delegates.
  std::optional<Digest> key_of(const Backend& backend, const Partition& partition) const;
  std::optional<PreprocessResult> find(const Digest& key, const Program& partition);
  // A write error only adds a note, since the result itself is valid.
  void keep(const Digest& key, const Program& partition, const PreprocessResult& result);

  // Returns the statistics since the last call.
  CacheUse take_use() { return std::exchange(use_, {}); }

 private:
  ResultCache(std::unique_ptr<ResultStore> store, Hash128 compiler)
      : store_(std::move(store)), compiler_(compiler) {}
  void note(std::string text);

  std::unique_ptr<ResultStore> store_;
  Hash128 compiler_;
  CacheUse use_;
};

}  // namespace depute
