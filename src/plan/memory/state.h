// Lays out state: buffers that some method stores to keep their content between calls.
//
//   data "count": f32[1]                       memory 2 + 0, from the initial value in the file
//   store buffer "count" = %n                  aten::copy_(count, n, false, count), as the last instructions
//
// Without memory banks, state lies in a memory of its own, since the runtime may share one arena between all methods and memory 1
// is lost between calls. With banks, it lies at the start of one or more of them. Every method finds a buffer at the same place. User inputs that a method stores to
// lie in the caller's memory, where the caller reads the change.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "plan/memory/banks.h"
#include "plan/memory/memory_map.h"

namespace depute {

inline constexpr std::uint32_t state_memory = 2;

struct StateSlot {
  TensorType type;
  std::uint32_t memory_id = state_memory;
  std::uint64_t offset = 0;  // in that memory
  std::uint64_t bytes = 0;
  std::uint32_t bank = any_bank;  // index of the bank that it is pinned to
  std::uint32_t initial = 0;      // number of the initial value, from 1; 0: only zeros, or empty
};

struct State {
  std::map<Name, StateSlot, SymbolTextLess> slots;  // by data key
  std::vector<TensorData> initial_values;           // contiguous
  std::vector<std::uint64_t> bank_ends;             // per bank of a MemoryMap: bytes of state at its start

  // Returns the slot of an input that is kept between calls; null for other inputs.
  const StateSlot* slot_of(const Method& method, const Value& input) const;
};

// Lays out the state of all methods together, in state_memory. If the caller provides its memory
// (WriteOptions::alloc_state), there are no initial values.
Result<State> lay_out_state(const Program& program, const MemoryMap& memory, bool alloc_state = true);

// Moves state to the starts of banks, larger buffers first, each to the first bank with room for it below the
// limit; to the last bank if there is none. `limits` has the bytes for state in each bank.
void move_state_to_banks(State& state, const MemoryMap& memory, std::span<const std::uint64_t> limits);

// A store at the end of a method: `content` becomes the content of the graph input `target`.
struct Store {
  const Value* target = nullptr;
  const Value* content = nullptr;
};

// Returns the stores in the order of the outputs. Fails for effects that are not stores, and for stores whose
// types do not match.
Result<std::vector<Store>> stores_of(const Method& method);

}  // namespace depute
