// Which nodes compute nothing: their results are bytes of their operand as they lie in memory.
//
//   %r: f32[6] = aten.view.default(%x: f32[2, 3], [6])            all of %x's bytes
//   %s: f32[1, 3] = aten.slice.Tensor(%x: f32[2, 3], 0, 1, 2)     12 bytes from byte 12 on
//   %t: f32[3, 2] = aten.permute.default(%x: f32[2, 3], [1, 0])   no: the elements change places
//
// All tensors between nodes are contiguous, so a cut along the outermost dimension is one run of bytes, and
// an op that keeps the order of the elements is nothing at all. Values are never written after they were
// made, so a clone is a view too. (Variables of control flow are; what reads them, reads them before.)
#pragma once

#include <cstdint>
#include <optional>

#include "depute/graph.h"
#include "depute/small_vector.h"

namespace depute {

struct View {
  const Value* base = nullptr;
  bool is_whole = true;                   // all of base's bytes; else static runs of them
  SmallVector<std::uint64_t, 1> offsets;  // bytes from base's start, one per result
};

// Nothing when the node moves or makes data.
std::optional<View> find_view(const Node& node);

// The operand whose memory, or whose number, the node's results may be; null when they are their own.
const Value* shared_operand(const Node& node);
// Where the value's memory or number comes from in the end.
const Value& root_of(const Value& value);

}  // namespace depute
