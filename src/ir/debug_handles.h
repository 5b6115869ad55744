// Debug handles are unique in a whole program, including bodies and the original subprograms of delegates.
//
//   move_debug_handles(program, 3)      %r = aten.relu.default(%x) #1   ->   %r = aten.relu.default(%x) #4
#pragma once

#include <cstdint>
#include <unordered_set>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Returns all debug handles.
std::unordered_set<std::uint32_t> debug_handles(const Program& program);

// Returns the largest debug handle; 0 if there is none.
std::uint32_t last_debug_handle(const Program& program);
std::uint32_t last_debug_handle(const Delegate& delegate);

// Returns last + 1. Fails if fewer than `count` handles are available behind `last`.
Result<std::uint32_t> next_debug_handle(std::uint32_t last, std::size_t count = 1);

// Adds `by` to all debug handles, which must fit (see next_debug_handle()). Nodes without a handle keep none.
void move_debug_handles(Program& program, std::uint32_t by);
void move_debug_handles(Delegate& delegate, std::uint32_t by);

}  // namespace depute
