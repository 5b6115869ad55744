// Functions of the caller that decide where planned values lie, in place of Depute's planner:
//
//   options.planner.place = [](std::span<const PlannedBlock> blocks) -> Result<MemoryPlacement> {
//     MemoryPlacement placement;
//     std::uint64_t end = 0;
//     for (const PlannedBlock& block : blocks) {  // each block has bytes of its own
//       placement.places.push_back({.memory_id = 1, .offset = end});
//       end += (block.bytes + block.alignment - 1) / block.alignment * block.alignment;
//     }
//     return placement;
//   };
//
// Depute still decides which values share a block. It checks the places, and to_executorch() fails with all mistakes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"
#include "depute/program/type.h"

namespace depute {

enum class PlannedKind : std::uint8_t {
  Temporary,
  Input,   // the caller of the method writes it
  Output,  // the caller of the method reads it; a block may be an input, too
  State,   // kept between calls
};

// A tensor in planned memory.
struct PlannedValue {
  std::string name;         // of the value; of the buffer, if a PlannedBlock of state has it
  std::uint32_t order = 0;  // its position among the values of the method
  PlannedKind kind = PlannedKind::Temporary;
  // Computes it: "aten::add.out", or the op if no kernel does: "delegate.call". Empty for inputs and state.
  std::string kernel = {};
  std::vector<std::string> operands = {};  // names of the tensors that the kernel reads
  ScalarType dtype = ScalarType::F32;
  std::vector<std::int64_t> sizes = {};  // upper bounds
  bool is_dynamic = false;
};

// Memory for one value, or for several that share it: results that are written over operands, views, parts.
struct PlannedBlock {
  std::string method;  // empty for state: it lies at one place in all methods
  std::vector<PlannedValue> values;
  PlannedKind kind = PlannedKind::Temporary;
  std::uint64_t bytes = 0;  // not 0
  std::uint64_t alignment = 16;
  // The block is alive from `first` to `last`, both included, counted in the method's nodes; inputs start at 0. State is always alive.
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::optional<std::uint32_t> memory_id = {};  // the only memory that may hold it
  std::uint32_t padding =
      0;  // bytes behind the last block of each memory of the method, which delegates may read
};

// A memory's number in the runtime, from 1, and bytes from its start.
struct BlockPlace {
  std::uint32_t memory_id = 0;  // 0: the block has no place
  std::uint64_t offset = 0;
};

struct MemoryPlacement {
  std::vector<BlockPlace> places;  // one per block
  // Sizes of the memories in bytes, by method and memory id; [0] is 0. Sizes without room for the padding grow. Without
  // an entry, the memories of a method end with its last blocks and the padding.
  std::map<std::string, std::vector<std::uint64_t>> memory_sizes = {};
};

// Both functions may be missing, and may fail.
struct MemoryPlanner {
  // Called once for each method, before values share memory. Returns the memory of each value, or 0 for any.
  std::function<Result<std::vector<std::uint32_t>>(std::string_view method, std::span<const PlannedValue>)>
      pin = {};
  // Called once, with the blocks of all methods, behind those of state.
  std::function<Result<MemoryPlacement>(std::span<const PlannedBlock>)> place = {};
};

}  // namespace depute
