// Hashes a sequence of parts (XXH3, 128 bits).
//
//   Hasher hasher;
//   hasher.add("name");
//   Hash128 hash = hasher.finish();
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "depute/program/hash.h"

namespace depute {

// Lengths are part of the hash, so ("ab", "c") differs from ("a", "bc"). Short
// parts are buffered, because a call of the hash function costs more than copying a few bytes.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  // Inline, because most parts are numbers: the copy is a single store.
  void add(std::uint64_t number) {
    if (sizeof(number) > gathered_.size() - gathered_size_) flush();
    std::memcpy(gathered_.data() + gathered_size_, &number, sizeof(number));
    gathered_size_ += sizeof(number);
  }
  Hash128 finish();

 private:
  void gather(std::span<const std::byte> bytes);
  void flush();

  void* state_;
  std::array<std::byte, 512> gathered_;
  std::size_t gathered_size_ = 0;
};

}  // namespace depute
