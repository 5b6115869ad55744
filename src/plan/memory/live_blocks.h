// Finds the placed blocks that are alive at some time in [first, last].
//
// A tree over all blocks in order of `first` holds, for each branch, the latest `last` of the placed blocks
// below it. A search enters only branches with an answer: O((answers + 1) log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/memory_plan.h"

namespace depute {

class LiveBlocks {
 public:
  explicit LiveBlocks(std::span<const MemoryBlock> blocks);

  void insert(std::uint32_t block);
  // Appends the placed blocks whose lifetimes overlap that of `block`, in order of `first`.
  void find_overlapping(std::uint32_t block, std::vector<std::uint32_t>& found) const;

 private:
  std::span<const MemoryBlock> blocks_;
  std::vector<std::uint32_t> by_first_;  // position -> block
  std::vector<std::uint32_t> position_;  // block -> position
  std::size_t leaves_ = 1;               // a power of two
  std::vector<std::int64_t> latest_;     // per branch; -1 if no block below it is placed
};

}  // namespace depute
