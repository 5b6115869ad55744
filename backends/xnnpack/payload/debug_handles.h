// Builds the delegate map of a payload with the operator names of the runtime's profile. The runtime appends
// element types and the kernel to a name and numbers operators by the whole text.
//
//   Conv2d 3x3 #1          "Convolution #1"          "Convolution (NHWC, F32) IGEMM #1"
//   DepthwiseConv2d #2     "Convolution #2"          "Convolution (NHWC, F32) DWConv #1"
//   Conv2d 1x1 #3          "Fully Connected #1"      "Fully Connected (NC, F32) GEMM #1"
//   Add, clamp 0..inf #4   "Add #1", "Clamp #1"      "Add (ND) #1", "Clamp (NC) #1"
//   Square #5, GlobalAvgPooling2d #6
//                          "Mean Squared #1"         "Mean Squared (ND) Reduce2 #1"
#pragma once

#include "backends/xnnpack/graph.h"
#include "depute/program/program.h"

namespace depute::xnnpack {

DebugHandleMap debug_handles(const XnnGraph& graph);

}  // namespace depute::xnnpack
