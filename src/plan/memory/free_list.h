// The free parts of an arena, as an allocator at run time keeps them: a block takes the smallest part that holds
// it, and parts that touch become one again.
//
//   take(64) -> 0, take(32) -> 64, give_back(0, 64), take(16) -> 0      part 16..64 is free
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace depute {

// The free parts of an arena that grows if no part fits.
class FreeList {
 public:
  // Returns nullopt if the arena would become larger than `limit`.
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t limit = ~std::uint64_t{0}) {
    auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes, limit);
    auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::uint64_t offset, std::uint64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      auto [next_offset, next_bytes] = *next;
      remove(next_offset, next_bytes);
      bytes += next_bytes;
    }
    auto previous = by_offset_.lower_bound(offset);
    if (previous != by_offset_.begin()) {
      auto [previous_offset, previous_bytes] = *std::prev(previous);
      if (previous_offset + previous_bytes == offset) {
        remove(previous_offset, previous_bytes);
        offset = previous_offset;
        bytes += previous_bytes;
      }
    }
    add(offset, bytes);
  }

  std::uint64_t end() const { return end_; }

 private:
  // Extends the arena, starting in its last free part if that lies at the end.
  std::optional<std::uint64_t> grow(std::uint64_t bytes, std::uint64_t limit) {
    std::uint64_t offset = end_;
    const bool has_tail =
        !by_offset_.empty() && by_offset_.rbegin()->first + by_offset_.rbegin()->second == end_;
    if (has_tail) offset = by_offset_.rbegin()->first;
    if (offset > limit || bytes > limit - offset) return std::nullopt;
    if (has_tail) remove(offset, end_ - offset);
    end_ = offset + bytes;
    return offset;
  }
  void add(std::uint64_t offset, std::uint64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::uint64_t offset, std::uint64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::uint64_t, std::uint64_t> by_offset_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // size, offset
  std::uint64_t end_ = 0;
};

}  // namespace depute
