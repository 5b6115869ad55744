#include "support/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace depute {

std::string Hash128::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Hash128 hash128(std::span<const std::byte> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

Hasher::Hasher() : state_(XXH3_createState()) {
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}
Hasher::~Hasher() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void Hasher::add(std::span<const std::byte> bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

void Hasher::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

void Hasher::add(std::uint64_t number) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), &number, sizeof number);
}

Hash128 Hasher::finish() const {
  XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
  return {hash.low64, hash.high64};
}

}  // namespace depute
