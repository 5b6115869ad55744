// The folder of CacheOptions (to_backend.h): finds and stores backend results by content.
//
// An entry is the file KEY.result:
//
//   "DEPUTER1" | u64 offset, u64 size and 16-byte hash of the description | blobs | description (JSON)
//
// The description has the position and hash of each blob. Data that equal a constant of the partition are
// stored as its name only: the next lowering has the same constant. Files are mapped, so that cached results
// are streamed like weights.
#pragma once

#include <optional>
#include <string>

#include "depute/backend/backend.h"
#include "depute/compiler/to_backend.h"
#include "support/hasher.h"

namespace depute {

class ResultCache {
 public:
  // Fails if the folder is not a directory and cannot be created. Caching is off if `options` has no folder.
  static Result<ResultCache> open(const CacheOptions& options);

  bool is_open() const { return !options_.folder.empty(); }
  // Returns nullopt if results are not cached: the backend disables it, or the partition has delegates.
  std::optional<Digest> key_of(const Backend& backend, const Partition& partition) const;
  std::optional<PreprocessResult> find(const Digest& key, const Program& partition);
  // A write error only adds a note, since the result itself is valid.
  void keep(const Digest& key, const Program& partition, const PreprocessResult& result);

  CacheUse take_use() && { return std::move(use_); }

 private:
  ResultCache(CacheOptions options, Hash128 compiler) : options_(std::move(options)), compiler_(compiler) {}
  std::string path_of(const Digest& key) const;
  Result<PreprocessResult> read(const std::string& path, const Program& partition) const;
  Status write(const std::string& path, const Program& partition, const PreprocessResult& result) const;
  void make_room();
  void note(std::string text);

  CacheOptions options_;
  Hash128 compiler_;
  CacheUse use_;
};

}  // namespace depute
