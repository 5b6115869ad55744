// Decides in which order each value's dimensions lie in memory, and inserts the transposes that are left.
//
//   Conv2d, Clamp, Conv2d, Reshape, FullyConnected       Transpose(0 2 3 1), Conv2d, Clamp, Conv2d,
//                                                   ->   Transpose(0 3 1 2), Reshape, FullyConnected
//
// Convolution, pooling and resizing want NHWC; elementwise nodes, slices, pads and concatenations take what
// comes; a Transpose of the program only renames dimensions and costs nothing until some node wants another
// order. Each value is transposed at most once per order. Constants are permuted at compile time. Where
// elements do not move (only dimensions of size 1 do) a Reshape takes a Transpose's place.
#pragma once

#include "graph.h"

namespace depute::xnnpack {

// The logical graph as it lies in memory, ready to be written. Concat of many inputs becomes a tree of
// Concat2 to Concat5, Expand a product with ones, ChannelAffine a 1x1 depthwise convolution or a product and
// a sum.
XnnGraph assign_layouts(const XnnGraph& logical);

// What each value's readers would like best, for assign_layouts: an order, or nothing where all are equal.
std::vector<std::optional<Order>> find_wishes(const XnnGraph& logical);

// The order a mean wants when no other will do: the averaged dimensions lie second and third from the end.
Order mean_order(std::size_t rank, const Axes& axes);
// The order of the argument of a mean that drops the dimensions `axes`, when its result lies in `order`.
Order dropping_order(const Order& order, const Axes& axes);

}  // namespace depute::xnnpack
