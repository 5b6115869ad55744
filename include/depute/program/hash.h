// Content hashes (XXH3, 128 bits) to deduplicate constants and compare graphs. Equal on all machines and in
// all versions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace depute {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  std::string hex() const;  // 32 lower-case digits
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(std::span<const std::byte> bytes);
Hash128 hash128_of_zeros(std::size_t size);  // hash of `size` zero bytes; allocates nothing
std::optional<Hash128> hash128_from_hex(std::string_view digits);  // inverse of hex()

// Hashes a sequence of parts. Lengths are part of the hash, so ("ab", "c") differs from ("a", "bc"). Short
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

template <>
struct std::hash<depute::Hash128> {
  std::size_t operator()(const depute::Hash128& value) const { return value.low; }
};

#pragma GCC visibility pop
