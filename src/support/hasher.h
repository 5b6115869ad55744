// Hashes a sequence of parts: with XXH3 (128 bits), which is fast, or with SHA-256, which resists attacks.
//
//   Hasher hasher;
//   hasher.add("name");
//   Hash128 hash = hasher.finish();
//
// Different bytes with equal XXH3 hashes are easy to make, so code that finds equal hashes compares the bytes.
// Where only a hash was kept, as in locks and caches, it is a SHA-256 hash.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
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

// A SHA-256 hash: in practice, equal digests mean equal inputs.
struct Digest {
  std::array<unsigned char, 32> bytes = {};

  std::string hex() const;  // 64 lower-case digits
  friend bool operator==(const Digest&, const Digest&) = default;
  friend std::strong_ordering operator<=>(const Digest& a, const Digest& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) <=> 0;
  }
};

Digest sha256(std::span<const std::byte> bytes);

// Like Hasher, with SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(std::uint64_t number) { update(std::as_bytes(std::span(&number, 1))); }
  void update(std::span<const std::byte> bytes);  // adds bytes without their number
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace depute
