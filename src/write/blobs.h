// Writes many pieces of bytes behind each other, equal ones once, and says where each one is.
//
// Only pieces that another one of the same size and with the same ends could equal are read to be compared
// (by their 128-bit hash); of unique weights no more than the ends is touched. Lazily made bytes are made a
// few at a time, hashed, written and dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "depute/data.h"
#include "support/output.h"

namespace depute {

struct Blob {
  std::shared_ptr<const Storage> storage;
  std::uint64_t offset = 0;  // in the storage
  std::uint64_t size = 0;
  std::uint64_t alignment = 16;  // of the position in the file, a power of two
};

// Positions in the file, one per blob; 0 for blobs without bytes. The file must not be empty. Blobs of equal
// bytes are aligned as the strictest of them asks; small ones may be there twice instead.
Result<std::vector<std::uint64_t>> write_blobs(Output& file, std::span<const Blob> blobs, int jobs);

}  // namespace depute
