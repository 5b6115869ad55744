// Folds batch norms after layers into the layers' weights, as PT2E does before it measures activations.
//
//   %c = aten.conv2d.default(%x, %w, %b)        ->     %c = aten.conv2d.default(%x, %"w.n", %"w.n.bias")
//   %n = aten.batch_norm.default(%c, ..)
//   return %n                                          return %c
//
// Computes in f32, like torch's fuse_conv_bn_weights.
#pragma once

#include "depute/program/program.h"

namespace depute {

void fold_batch_norms(Program& program, Method& method);

}  // namespace depute
