// Debug handles of a whole program: they tell all its nodes apart, those of bodies and of what its delegates
// were made from among them.
//
//   move_debug_handles(program, 3)      %r = aten.relu.default(%x) #1   ->   %r = aten.relu.default(%x) #4
#pragma once

#include <cstdint>

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// 0 where there is none.
std::uint32_t last_debug_handle(const Program& program);
std::uint32_t last_debug_handle(const Delegate& delegate);

// The first handle behind `last`. Fails if fewer than `count` handles are left behind it.
Result<std::uint32_t> next_debug_handle(std::uint32_t last, std::size_t count = 1);

// The handles must fit: next_debug_handle() tells. Nodes without a handle stay without one.
void move_debug_handles(Program& program, std::uint32_t by);
void move_debug_handles(Delegate& delegate, std::uint32_t by);

}  // namespace depute
