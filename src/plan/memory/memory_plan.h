// Packs blocks of memory with lifetimes into one arena: blocks that live at the same time never overlap.
//
//   first last bytes                 offset
//   0     1    64          ->        0
//   1     2    32                    64
//   2     3    64                    0          96 bytes in all
//
// Tries several packings (largest first into the best gap, longest-lived first, in order of time) and takes
// the smallest. Stops early if a packing is as small as the peak of bytes alive at one time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace depute {

// Alignment in bytes of arenas in the runtime; every block starts at a multiple of it.
inline constexpr std::uint64_t block_alignment = 16;

struct MemoryBlock {
  std::uint32_t first = 0;  // time of definition
  std::uint32_t last = 0;   // time of the last use; the block is alive at both
  std::uint64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  // one per block
  std::uint64_t bytes = 0;             // size of the arena
};

// Sizes are rounded up to block_alignment; empty blocks get offset 0. O(n log n): packings that compare
// blocks with each other are abandoned after a number of steps linear in n.
MemoryPlan plan_memory(std::span<const MemoryBlock> blocks);

// Returns the start of the smallest gap between `neighbors` (begin and end, alive at the same time, sorted by
// offset) that holds `bytes`, or their end.
std::uint64_t best_gap(std::span<const std::pair<std::uint64_t, std::uint64_t>> neighbors,
                       std::uint64_t bytes);

// Maximum number of bytes alive at one time: a lower bound for every plan.
std::uint64_t peak_bytes(std::span<const MemoryBlock> blocks);

}  // namespace depute
