// Packs blocks with lifetimes into several memories of limited size, the fastest first.
//
//   first last bytes traffic       sram 96 bytes    dram 1000 bytes
//   0     2    64    320           0
//   1     2    64    128                            0          does not fit beside the first
//   2     3    32    64            64
//
// Minimizes the traffic of slow memories: the bytes of a block that are read and written, times the number of
// banks in front of its bank. Of equal plans, takes the one with fewer bytes in all. A block that fits
// nowhere lies beyond the end of its last bank, and counts as excess.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/memory_plan.h"

namespace depute {

inline constexpr std::uint32_t any_bank = 0xffffffff;

// Room for blocks in a bank; offsets start at a multiple of the alignment.
struct BankRoom {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = block_alignment;
};

struct BlockUse {
  std::uint64_t traffic = 0;      // bytes that are written and read
  std::uint32_t bank = any_bank;  // the only bank that may hold the block
};

// The smaller one is better.
struct BankCost {
  std::uint64_t conflicts = 0;     // values that share memory, but are pinned to two banks
  std::uint64_t excess = 0;        // bytes beyond the ends of banks
  std::uint64_t slow_traffic = 0;  // traffic of a block times the index of its bank
  std::uint64_t bytes = 0;         // of all banks

  friend auto operator<=>(const BankCost&, const BankCost&) = default;
};

struct BankPlan {
  std::vector<std::uint32_t> banks;    // one per block
  std::vector<std::uint64_t> offsets;  // one per block
  std::vector<std::uint64_t> used;     // end of the last block, one per bank
  BankCost cost;
};

// Empty blocks lie at the start of their bank. Takes O(n log n) steps for each of a limited number of packings.
BankPlan plan_banks(std::span<const MemoryBlock> blocks, std::span<const BlockUse> uses,
                    std::span<const BankRoom> rooms);

}  // namespace depute
