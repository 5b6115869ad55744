// Lays out state: buffers that some method stores to keep their content between calls.
//
//   data "count": f32[1]                       memory 2 + 0, from the initial value in the file
//   store buffer "count" = %n                  aten::copy_(count, n, false, count), as the last instructions
//
// State lies in a memory of its own, since the runtime may share one arena between all methods and memory 1
// is lost between calls. Every method finds a buffer at the same place. User inputs that a method stores to
// lie in the caller's memory, where the caller reads the change.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

inline constexpr std::uint32_t state_memory = 2;

struct StateSlot {
  TensorType type;
  std::uint64_t offset = 0;  // in state_memory
  std::uint64_t bytes = 0;
  std::uint32_t initial = 0;  // number of the initial value, from 1; 0: only zeros, or empty
};

struct State {
  std::map<Name, StateSlot, SymbolTextLess> slots;  // by data key
  std::vector<TensorData> initial_values;           // contiguous
};

// Lays out the state of all methods together.
Result<State> lay_out_state(const Program& program);

// A store at the end of a method: `content` becomes the content of the graph input `target`.
struct Store {
  const Value* target = nullptr;
  const Value* content = nullptr;
};

// Returns the stores in the order of the outputs. Fails for effects that are not stores, and for stores whose
// types do not match.
Result<std::vector<Store>> stores_of(const Method& method);

}  // namespace depute
