// On-disk cache of preprocess() results: a second lowering calls a backend only for changed partitions.
// Useful for backends with a slow preprocess(), such as vendor compilers.
//
// A result's key is the hash of everything it depends on: the partition (its graph with names and debug
// handles, the bytes of its constants), the compile specs, the backend's id and cache_version(), and the
// compiler's version and binary. Source lines are not included. Entries have a checksum; a damaged entry is
// reported, ignored and rebuilt. Entries are written atomically, so several processes can share a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace depute {

struct CacheOptions {
  std::string folder = {};  // created if missing; empty: caching is disabled
  // Maximum size in bytes; beyond it, the least recently used entries are deleted.
  std::uint64_t max_bytes = std::uint64_t{10} << 30;
};

// Cache statistics of one lowering.
struct CacheUse {
  std::uint64_t found = 0;
  std::uint64_t made = 0;               // misses; excludes backends without cache_version()
  std::vector<std::string> notes = {};  // damaged entries, unwritable folder
};

}  // namespace depute

#pragma GCC visibility pop
