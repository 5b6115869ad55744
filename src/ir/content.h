// Content of storages and programs: reads bytes without keeping them, finds equal items, and makes hashes that
// stand for the bytes (SHA-256) where these are not at hand.
//
//   EqualItems<std::uint32_t> seen;
//   auto earlier = seen.find_or_add(hash, 7, [&](std::uint32_t other) { return is_equal(other, 7); });
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "depute/program/data.h"
#include "depute/program/program.h"
#include "support/hasher.h"

namespace depute {

// Returns use(bytes). Bytes that a lazy storage produces are freed afterwards.
template <typename Use>
auto with_bytes(const Storage& storage, Use&& use) {
  if (!storage.is_lazy()) return use(storage.bytes());
  const std::vector<std::byte> made = storage.produce();
  return use(std::span<const std::byte>(made));
}

// Faster than std::ranges::equal, which compares one std::byte at a time.
bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b);

// Items by their hash. Items with one hash may differ, so the caller compares them.
template <typename Item>
class EqualItems {
 public:
  // Returns an earlier item of this hash for which is_same(item) is true; adds this one if there is none.
  template <typename IsSame>
  std::optional<Item> find_or_add(const Hash128& hash, Item item, IsSame&& is_same) {
    std::vector<Item>& items = items_[hash];
    for (const Item& earlier : items) {
      if (is_same(earlier)) return earlier;
    }
    items.push_back(std::move(item));
    return std::nullopt;
  }

 private:
  std::unordered_map<Hash128, std::vector<Item>> items_;
};

// Digest of the bytes or, of elided ones, of their hash.
Digest content_digest(const Storage& storage);
Digest content_digest(const TensorData& data);

// Digest of everything that structural_hash() hashes without data.
Digest structural_digest(const Program& program);

}  // namespace depute
