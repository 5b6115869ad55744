#include "ir/content.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace depute {
namespace {

constexpr std::size_t max_hashed_zeros = std::size_t{1} << 26;

// A text can say that it has terabytes of zeros: of more than these, the number is hashed.
Digest digest_of_zeros(std::size_t size) {
  if (size > max_hashed_zeros) {
    Sha256 hasher;
    hasher.add("zeros");
    hasher.add(static_cast<std::uint64_t>(size));
    return hasher.finish();
  }
  static constexpr std::array<std::byte, 65536> zeros = {};
  Sha256 hasher;
  for (std::size_t left = size; left > 0; left -= std::min(left, zeros.size()))
    hasher.update(std::span(zeros).first(std::min(left, zeros.size())));
  return hasher.finish();
}

}  // namespace

Digest content_digest(const Storage& storage) {
  if (storage.is_elided()) return sha256(bytes(storage.elided_content()->hex()));
  if (storage.is_zeros()) return digest_of_zeros(storage.size());
  return with_bytes(storage, sha256);
}

Digest content_digest(const TensorData& data) {
  // Elements that share their bytes are not written out: four bytes can stand for gigabytes.
  if (data.type.static_bytes().value_or(0) > data.storage->size()) {
    Sha256 hasher;
    hasher.add(content_digest(*data.storage).hex());
    hasher.add(str(data.type));
    hasher.add(static_cast<std::uint64_t>(data.offset));
    return hasher.finish();
  }
  return content_digest(data.storage->is_elided() ? *data.storage : *dense_bytes(data));
}

bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

bool have_same_bytes(const Storage& a, const Storage& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  if (a.is_elided() || b.is_elided()) return content_hash(a) == content_hash(b);
  if (a.is_zeros() && b.is_zeros()) return true;
  return with_bytes(a, [&](std::span<const std::byte> bytes) {
    return with_bytes(b, [&](std::span<const std::byte> others) { return are_equal(bytes, others); });
  });
}

}  // namespace depute
