// The folder of include/depute/result_cache.h: finds and keeps results of backends by content.
//
// An entry is the file KEY.result:
//
//   "DEPUTER1" | u64 offset, u64 size and 16-byte hash of the description | blobs | description (JSON)
//
// The description has the place and hash of each blob. Data that are a constant of the partition as it is are
// named there and not stored: the next lowering has them, too. Files are mapped, so that a result that is
// found is streamed from there like weights are.
#pragma once

#include <optional>
#include <string>

#include "depute/backend.h"
#include "depute/hash.h"
#include "depute/result_cache.h"

namespace depute {

class ResultCache {
 public:
  // Fails when the folder is no folder and cannot be made. Without one in `options`, there is nothing to
  // find.
  static Result<ResultCache> open(const CacheOptions& options);

  bool is_open() const { return !options_.folder.empty(); }
  // Nothing for a result that is not kept: of a backend that says so, or of a partition with other delegates.
  std::optional<Hash128> key_of(const Backend& backend, const Partition& partition) const;
  std::optional<PreprocessResult> find(const Hash128& key, const Program& partition);
  // A failure is a note, since the result itself is there.
  void keep(const Hash128& key, const Program& partition, const PreprocessResult& result);

  CacheUse take_use() && { return std::move(use_); }

 private:
  ResultCache(CacheOptions options, Hash128 compiler) : options_(std::move(options)), compiler_(compiler) {}
  std::string path_of(const Hash128& key) const;
  Result<PreprocessResult> read(const std::string& path, const Program& partition) const;
  Status write(const std::string& path, const Program& partition, const PreprocessResult& result) const;
  void make_room();
  void note(std::string text);

  CacheOptions options_;
  Hash128 compiler_;
  CacheUse use_;
};

}  // namespace depute
