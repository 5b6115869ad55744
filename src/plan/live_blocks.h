// The blocks placed so far, searchable by lifetime: which of them are alive at some time in [first, last]?
//
// A tree over all blocks in order of `first` holds the latest `last` of the placed ones below each branch, so
// a search enters only branches that hold an answer: O((answers + 1) log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory_plan.h"

namespace depute {

class LiveBlocks {
 public:
  explicit LiveBlocks(std::span<const MemoryBlock> blocks);

  void insert(std::uint32_t block);
  // Appends the placed blocks that are alive together with `block`, in order of `first`.
  void find_overlapping(std::uint32_t block, std::vector<std::uint32_t>& found) const;

 private:
  std::span<const MemoryBlock> blocks_;
  std::vector<std::uint32_t> by_first_;  // position -> block
  std::vector<std::uint32_t> position_;  // block -> position
  std::size_t leaves_ = 1;               // a power of two
  std::vector<std::int64_t> latest_;     // per branch; -1 when nothing is placed below
};

}  // namespace depute
