// Writes byte ranges (blobs) one after another, equal ones once, and returns the position of each.
//
// Only blobs that could be equal, with the same size and the same bytes at both ends, are hashed, and compared if
// the hashes are equal. For unique weights only the ends are read. Lazy bytes are produced a few at a time,
// hashed, written and dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "depute/program/data.h"
#include "support/output.h"

namespace depute {

struct Blob {
  std::shared_ptr<const Storage> storage;
  std::uint64_t offset = 0;  // in the storage
  std::uint64_t size = 0;
  std::uint64_t alignment = 16;  // of the position in the file, in bytes; a power of two
};

bool have_same_bytes(const Blob& a, const Blob& b);

// Returns positions in the file, one per blob; 0 for empty blobs. The file must not be empty. Blobs with
// equal bytes get the strictest of their alignments; small ones may be stored twice instead.
Result<std::vector<std::uint64_t>> write_blobs(Output& file, std::span<const Blob> blobs, int jobs);

}  // namespace depute
