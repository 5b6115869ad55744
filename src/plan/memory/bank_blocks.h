// Distributes the blocks of one method to memory banks: counts how often each is read and written, and names
// the tensors that are in the way if the banks are too small.
//
//   %a: f32[16] = aten.exp.default(%x)      block 1: 64 bytes, traffic 64 + 2 * 64
//   %b: f32[16] = aten.mul.Tensor(%a, %a)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "depute/program/program.h"
#include "plan/memory/banks.h"
#include "plan/memory/memory_map.h"
#include "plan/memory/placement.h"
#include "plan/memory/state.h"

namespace depute {

inline constexpr std::uint32_t no_block = 0xffffffff;

struct BlockOwner {
  const Value* value = nullptr;   // the first one in the block
  std::uint32_t bank = any_bank;  // index of the bank that its values are pinned to
};

struct BlockPlace {
  std::uint32_t memory_id = 0;
  std::uint64_t offset = 0;
};

struct PackedBlocks {
  std::vector<BlockPlace> places;           // one per block
  std::vector<std::uint64_t> memory_sizes;  // as Placement::memory_sizes
  BankCost cost;
  std::vector<PlanBank> banks;  // as Placement::banks
  std::optional<RefusedNode> misfit;
};

// The blocks of a method whose values are placed.
struct MethodBlocks {
  const Program& program;
  const Method& method;
  const Placement& placement;
  std::span<const MemoryBlock> blocks;
  std::span<const BlockOwner> owners;       // one per block
  std::span<const std::uint32_t> block_of;  // by base; no_block if it has none
  std::uint64_t padding = 0;                // bytes that delegates may read behind a value
};

// Returns by base the index of the bank that values in it are pinned to, or any_bank. Values that share memory
// cannot lie in two banks: adds them to placement.refused.
std::vector<std::uint32_t> find_pins(const Program& program, const Method& method, const MemoryMap& memory,
                                     Placement& placement);

// Every bank that holds anything ends with the padding, behind state at its start. All banks are in
// memory_sizes, unless the method has no planned memory.
PackedBlocks pack_into_banks(const MethodBlocks& method, const MemoryMap& memory, const State& state);

}  // namespace depute
