// Computes at compile time what does not depend on the user's inputs.
//
//   method f(%w: f32[4, 8] = param "w", %x: f32[2, 8]) {
//     %t: f32[8, 4] = aten.permute.default(%w, [1, 0])
//     %y: f32[2, 4] = aten.mm.default(%x, %t)
//
//   method f(%x: f32[2, 8], %t_1: f32[8, 4] = constant "t") {        with "t" a view of w's storage
//     %y: f32[2, 4] = aten.mm.default(%x, %t_1)
//
// The new constants come behind the other inputs; constant inputs may stand anywhere. Bodies of control flow
// get theirs as operands; what is the same in all turns of a loop is computed here once. What is large is not
// computed here, but when the bytes are written out.
#pragma once

#include <cstddef>

#include "depute/program.h"
#include "depute/result.h"

namespace depute {

// A node stays when its results are larger than this and more than max_folded_growth times its operands.
inline constexpr std::size_t max_folded_bytes = std::size_t{16} << 20;
inline constexpr std::size_t max_folded_growth = 4;
// Constants that wait for each other to be computed, at most; the next one is computed at once.
inline constexpr int max_folded_depth = 64;

// Afterwards no pure node of a method has only constant operands, but for those that are part of a quantised
// pattern, have no reference kernel, would fail, or whose results are too large.
Status fold_constants(Program& program);

}  // namespace depute
