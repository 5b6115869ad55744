// State: buffers that some method stores to keep their content between calls.
//
//   data "count": f32[1]                       memory 2 + 0, from the initial value in the file
//   store buffer "count" = %n                  aten::copy_(count, n, false, count), as the last instructions
//
// They lie in a memory of their own: the runtime may use one arena for all methods, so that what a method
// keeps in memory 1 would be gone when another one has run. Every method finds a buffer at the same place.
// User inputs that are stored to lie in the caller's memory, where he looks for the change.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

inline constexpr std::uint32_t state_memory = 2;

struct StateSlot {
  TensorType type;
  std::uint64_t offset = 0;  // in state_memory
  std::uint64_t bytes = 0;
  std::uint32_t initial =
      0;  // number of the initial value, from 1; 0 for a tensor of zeros, or without elements
};

struct State {
  std::map<Symbol, StateSlot, SymbolTextLess> slots;  // by data key
  std::vector<TensorData> initial_values;             // dense
};

// Of all methods together.
Result<State> lay_out_state(const Program& program);

// What a method does at its end: `content` becomes the content of the graph input `target`.
struct Store {
  const Value* target = nullptr;
  const Value* content = nullptr;
};

// In the order of the outputs. Fails for effects that are no stores, and for stores that do not fit.
Result<std::vector<Store>> stores_of(const Method& method);

}  // namespace depute
