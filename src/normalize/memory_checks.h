// Refuses calls whose results depend on how torch lays out memory that the program does not have:
//
//   %s: f32[8] = aten.slice.Tensor(%x, 0, 2)
//   %a: f32[3] = aten.as_strided.default(%s, [3], [1], 0)       reads the elements of %x in front of %s
//
//   %u: f32[9, 8] = aten.unfold.default(%x, 0, 8, 1)            elements of %u share memory
//   %w: f32[9, 8] = aten.select_scatter.default(%u, %y, 0, 0)   torch writes to all of them
#pragma once

#include "depute/program/graph.h"

namespace depute {

// Fails for such a call. `base` owns the memory of the call's first argument; types are those of the file.
Status check_memory(const Node& node, const Value& base, const Ranges& ranges);

}  // namespace depute
