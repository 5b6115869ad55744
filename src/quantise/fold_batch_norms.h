// Batch norms behind layers become a part of their weights, as PT2E has it before it measures anything.
//
//   %c = aten.conv2d.default(%x, %w, %b)               %c = aten.conv2d.default(%x, %w', %b')
//   %n = aten.batch_norm.default(%c, ..)        ->
//   return %n                                          return %c
//
// The sums are those of torch's fuse_conv_bn_weights, in f32.
#pragma once

#include "depute/program.h"

namespace depute {

void fold_batch_norms(Program& program, Method& method);

}  // namespace depute
