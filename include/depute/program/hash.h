// Content hashes (XXH3, 128 bits) to find constants and graphs that may be equal. Equal on all machines and in
// all versions. Different bytes with equal hashes are easy to make, so have_same_bytes() decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "depute/api.h"

namespace depute {

struct DEPUTE_API Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  std::string hex() const;  // 32 lower-case digits
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

DEPUTE_API Hash128 hash128(std::span<const std::byte> bytes);
DEPUTE_API Hash128 hash128_of_zeros(std::size_t size);  // hash of `size` zero bytes; allocates nothing
DEPUTE_API std::optional<Hash128> hash128_from_hex(std::string_view digits);  // inverse of hex()

}  // namespace depute

template <>
struct std::hash<depute::Hash128> {
  std::size_t operator()(const depute::Hash128& value) const { return value.low; }
};
