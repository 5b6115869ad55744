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

struct PackedBlocks {
  std::vector<BlockPlace> places;           // one per block
  std::vector<std::uint64_t> memory_sizes;  // as Placement::memory_sizes
  BankCost cost;
  std::vector<PlanBank> banks;  // as Placement::banks
  std::optional<RefusedNode> misfit;
};

// Returns by base the index of the bank that values in it are pinned to, or any_bank. Values that share memory
// cannot lie in two banks: adds them to placement.refused.
std::vector<std::uint32_t> find_pins(const Program& program, const Method& method, const MemoryMap& memory,
                                     Placement& placement);

// Every bank that holds anything ends with the padding, behind state at its start. All banks are in
// memory_sizes, unless the method has no planned memory.
PackedBlocks pack_into_banks(const Program& program, const Method& method, const Placement& placement,
                             const MemoryMap& memory, const State& state);

}  // namespace depute
