// Finds nodes that compute nothing: their results are bytes of their operand in the same order.
//
//   %r: f32[6] = aten.view.default(%x: f32[2, 3], [6])            all of %x's bytes
//   %s: f32[1, 3] = aten.slice.Tensor(%x: f32[2, 3], 0, 1, 2)     12 bytes from byte 12 on
//   %t: f32[3, 2] = aten.permute.default(%x: f32[2, 3], [1, 0])   no: the elements change places
//
// All tensors between nodes are contiguous. So a slice along the outermost dimension is one run of bytes, and
// an op that keeps the element order needs no instruction. Values are written once, so a clone is a view too.
// (Variables of control flow change, but they are read before that.)
#pragma once

#include <cstdint>
#include <optional>

#include "depute/program/graph.h"
#include "depute/program/small_vector.h"

namespace depute {

struct View {
  const Value* base = nullptr;
  bool is_whole = true;                   // all bytes of base; otherwise static runs of bytes
  SmallVector<std::uint64_t, 1> offsets;  // bytes from base's start, one per result
};

// Returns nullopt if the node moves or creates data.
std::optional<View> find_view(const Node& node);

// Returns the operand whose memory or number the results may share; null if they share none.
const Value* shared_operand(const Node& node);
// Follows shared_operand() to the value that owns the memory or number.
const Value& root_of(const Value& value);

}  // namespace depute
