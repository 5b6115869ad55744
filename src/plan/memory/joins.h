// Places the operands of a cat directly in its result, so that the cat needs no instruction.
//
//   %a: f32[1, 2, 8] = aten.sin.default(%x)        in the first 64 bytes of %c
//   %b: f32[1, 3, 8] = aten.cos.default(%y)        in the 96 bytes behind them
//   %c: f32[1, 5, 8] = aten.cat.default([%a, %b], 1)
//
// This works along the outermost dimension, if sizes are static and no operand is needed in two places. The
// result's memory is reserved from the first operand on, which may take more memory than two copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "depute/program/program.h"
#include "plan/memory/placement.h"
#include "plan/memory/state.h"
#include "plan/memory/value_uses.h"

namespace depute {

struct Join {
  const Value* whole = nullptr;  // null: the value has a place of its own
  std::uint64_t offset = 0;      // bytes from the start of `whole`
};

struct Joins {
  std::vector<Join> of;         // by value number
  std::vector<bool> is_joined;  // by node id: a cat that needs no instruction
  bool empty = true;
};

Joins find_joins(const Method& method, const ValueNumbers& numbers, const ValueUses& uses,
                 std::span<const Store> stores, const WriteOptions& options);

}  // namespace depute
