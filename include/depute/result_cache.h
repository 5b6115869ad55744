// What backends made of partitions, kept on disk: a second lowering asks a backend only for partitions that
// have changed. Pays where preprocess takes long, as vendors' compilers do.
//
// The key of a result is the hash of all that it depends on: the partition (its graph with names and debug
// handles, its constants' bytes), the compile specs, the backend's id and cache_version(), and the compiler's
// version and bytes. Source lines are not part of it. An entry has a checksum; one that is damaged is told,
// ignored and made anew. Entries appear whole or not at all, so that several processes can share a folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace depute {

struct CacheOptions {
  std::string folder = {};  // made where it is missing; empty: nothing is kept
  // Bytes. The entries that were not used for longest go when there are more.
  std::uint64_t max_bytes = std::uint64_t{10} << 30;
};

// What came of it in one lowering.
struct CacheUse {
  std::uint64_t found = 0;
  std::uint64_t made = 0;               // not found, but for those of backends whose results are not kept
  std::vector<std::string> notes = {};  // damaged entries, a folder that cannot be written
};

}  // namespace depute

#pragma GCC visibility pop
