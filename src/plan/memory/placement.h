// Places every tensor of a method: in the constants, at an offset of planned memory, in the state kept
// between calls, or in memory of the caller. Finds nodes that need no instruction because their results
// already lie there.
//
//   views share the bytes of their base;
//   a pointwise op overwrites an operand that is not needed again;
//   the new content of a buffer is written into the buffer itself if its old content is not needed any more;
//   every other result gets a block of its own, alive from its node to its last use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "depute/compiler/memory_planner.h"
#include "depute/program/program.h"
#include "ir/delegate_index.h"
#include "plan/memory/banks.h"
#include "plan/memory/memory_map.h"
#include "plan/memory/state.h"
#include "plan/memory/tensor_bounds.h"
#include "plan/plan.h"
#include "plan/value_numbers.h"

namespace depute {

enum class PlaceKind : std::uint8_t {
  None,      // not a tensor
  Constant,  // base: the graph input that holds it
  Planned,   // at tensor.memory_offset
  Caller,    // the pointer is set when the program runs
  State,     // base: the graph input of a buffer that is kept between calls
};

struct PlacedValue {
  PlaceKind kind = PlaceKind::None;
  std::uint32_t base = 0;    // value that owns the bytes; the value itself if it is no view
  std::uint64_t offset = 0;  // bytes from the base's start
  std::uint64_t bytes = 0;   // for the upper bounds of the sizes
  PlanTensor tensor;
};

enum class NodeAction : std::uint8_t {
  Call,    // an instruction of its own
  Alias,   // no instruction: the results lie in the operand's memory
  Resize,  // like Alias, but sizes or pointer are known only at run time: et_view
};

// A value that the stores overwrite although its old content is still needed.
struct OldContent {
  const Value* value = nullptr;
  PlanTensor copy;
};

inline constexpr std::uint32_t no_block = 0xffffffff;

struct BlockOwner {
  const Value* value = nullptr;   // the first one in the block
  std::uint32_t bank = any_bank;  // index of the bank that its values are pinned to
};

struct Placement {
  ValueNumbers numbers;
  std::vector<PlacedValue> values;          // by number
  std::vector<NodeAction> actions;          // by node id
  std::vector<std::uint64_t> memory_sizes;  // per memory_id; [0] is unused
  BankCost cost;                            // cost.bytes does not include state
  std::vector<PlanBank> banks;              // empty without a MemoryMap
  // At the end of the method: copies of old contents, then the stores whose content is not yet in place.
  std::vector<OldContent> old_contents;
  std::vector<Store> stores;
  std::vector<RefusedNode> refused;  // tensors that the runtime cannot hold; placeholders replace them
  // Planned memory, which values share.
  std::vector<MemoryBlock> blocks;
  std::vector<BlockOwner> owners;          // of blocks
  std::vector<std::uint32_t> block_of;     // by base; no_block if it has none
  std::vector<std::uint32_t> copy_blocks;  // of old_contents; no_block: in memory of the caller
  std::uint32_t padding = 0;               // bytes that delegates may read behind the last block

  const PlacedValue& operator[](const Value& value) const { return values[numbers[value]]; }
};

// Gives the values in blocks their place, one place per block.
void set_places(Placement& placement, std::span<const BlockPlace> places);

// Gives buffers that are kept between calls, their views and values written into them the places of the slots.
void set_state_places(Placement& placement, const Method& method, const State& state);

Result<Placement> place_values(const Program& program, const Method& method, const State& state,
                               const DelegateIndex& delegates, const MemoryMap& memory,
                               const WriteOptions& options);

}  // namespace depute
