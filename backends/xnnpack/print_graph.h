// Prints a graph as text, for tests and debugging:
//
//   %0: f32[1, 3, 8, 8] = input 0
//   %1: f32[1, 8, 8, 3] = Transpose(%0, [0, 2, 3, 1]) #1
//   %4: f32[1, 6, 6, 8] = Conv2d(%1, "xnn:w..", "xnn:b", kernel 3x3, groups 1 x 3 -> 8, clamp 0..inf) #1
//   #2 output 0 = %4
#pragma once

#include <string>

#include "graph.h"

namespace depute::xnnpack {

std::string print_graph(const XnnGraph& graph);

}  // namespace depute::xnnpack
