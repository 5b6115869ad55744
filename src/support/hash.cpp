#include "support/hasher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#define OPENSSL_API_COMPAT 0x10100000L  // the plain functions: EVP loads algorithms at run time
#include <openssl/sha.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace depute {

std::string Hash128::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Hash128 hash128(std::span<const std::byte> bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

Hash128 hash128_of_zeros(std::size_t size) {
  static constexpr std::array<std::byte, 65536> zeros = {};
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  for (std::size_t left = size; left > 0;) {
    std::size_t chunk = std::min(left, zeros.size());
    XXH3_128bits_update(state, zeros.data(), chunk);
    left -= chunk;
  }
  XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return {hash.low64, hash.high64};
}

std::optional<Hash128> hash128_from_hex(std::string_view digits) {
  if (digits.size() != 32) return std::nullopt;
  Hash128 hash;
  for (std::uint64_t* half : {&hash.high, &hash.low}) {
    const char* first = digits.data() + (half == &hash.high ? 0 : 16);
    auto [end, status] = std::from_chars(first, first + 16, *half, 16);
    if (status != std::errc() || end != first + 16) return std::nullopt;
  }
  return hash;
}

Hasher::Hasher() : state_(XXH3_createState()) {
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}
Hasher::~Hasher() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void Hasher::flush() {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), gathered_.data(), gathered_size_);
  gathered_size_ = 0;
}

inline void Hasher::gather(std::span<const std::byte> bytes) {
  if (bytes.size() > gathered_.size() - gathered_size_) flush();
  if (bytes.size() > gathered_.size()) {
    XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
    return;
  }
  if (!bytes.empty()) std::memcpy(gathered_.data() + gathered_size_, bytes.data(), bytes.size());
  gathered_size_ += bytes.size();
}

void Hasher::add(std::span<const std::byte> bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  gather(bytes);
}

void Hasher::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

Hash128 Hasher::finish() {
  flush();
  XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
  return {hash.low64, hash.high64};
}

std::string Digest::hex() const {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hasher;
  hasher.update(bytes);
  return hasher.finish();
}

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  SHA256_Init(&state_->context);
}
Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  update(bytes);
}

void Sha256::update(std::span<const std::byte> bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

Digest Sha256::finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), &state_->context);
  return digest;
}

}  // namespace depute
