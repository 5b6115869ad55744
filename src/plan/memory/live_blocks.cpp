#include "plan/memory/live_blocks.h"
#include "depute/program/small_vector.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace depute {

LiveBlocks::LiveBlocks(std::span<const MemoryBlock> blocks)
    : blocks_(blocks), by_first_(blocks.size()), position_(blocks.size()) {
  std::iota(by_first_.begin(), by_first_.end(), 0U);
  std::ranges::stable_sort(by_first_, {}, [&](std::uint32_t block) { return blocks[block].first; });
  for (std::uint32_t i = 0; i < by_first_.size(); ++i) position_[by_first_[i]] = i;
  leaves_ = std::bit_ceil(std::max<std::size_t>(blocks.size(), 1));
  latest_.assign(2 * leaves_, -1);
}

void LiveBlocks::insert(std::uint32_t block) {
  std::size_t branch = leaves_ + position_[block];
  for (; branch > 0; branch /= 2) {
    latest_[branch] = std::max<std::int64_t>(latest_[branch], blocks_[block].last);
  }
}

void LiveBlocks::find_overlapping(std::uint32_t block, std::vector<std::uint32_t>& found) const {
  const MemoryBlock& wanted = blocks_[block];
  auto later = std::ranges::upper_bound(by_first_, wanted.last, {},
                                        [&](std::uint32_t other) { return blocks_[other].first; });
  auto end = static_cast<std::size_t>(later - by_first_.begin());
  struct Branch {
    std::size_t index;
    std::size_t begin;  // leaves below: [begin, begin + width)
    std::size_t width;
  };
  SmallVector<Branch, 64> open{{1, 0, leaves_}};
  while (!open.empty()) {
    Branch branch = open.back();
    open.pop_back();
    if (branch.begin >= end || latest_[branch.index] < wanted.first) continue;
    if (branch.width == 1) {
      found.push_back(by_first_[branch.begin]);
      continue;
    }
    std::size_t half = branch.width / 2;
    open.push_back({2 * branch.index + 1, branch.begin + half, half});
    open.push_back({2 * branch.index, branch.begin, half});
  }
}

}  // namespace depute
