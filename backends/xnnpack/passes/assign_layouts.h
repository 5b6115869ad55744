// Chooses the memory order of each value's dimensions and inserts the remaining transposes.
//
//   Conv2d, Clamp, Conv2d, Reshape, FullyConnected       Transpose(0 2 3 1), Conv2d, Clamp, Conv2d,
//                                                   ->   Transpose(0 3 1 2), Reshape, FullyConnected
//
// Convolution, pooling and resizing need NHWC; elementwise nodes, slices, pads and concatenations accept any
// order. A Transpose of the program only renames dimensions; it costs nothing until a node needs another
// order. Each value is transposed at most once per order. Constants are permuted at compile time. If a
// Transpose only moves dimensions of size 1, a Reshape replaces it.
#pragma once

#include "backends/xnnpack/graph.h"

namespace depute::xnnpack {

// Returns the physical graph, ready to be written. A Concat of many inputs becomes a tree of Concat2 to
// Concat5. An Expand becomes a product with ones. A ChannelAffine becomes a 1x1 depthwise convolution, or a
// product and a sum.
XnnGraph assign_layouts(const XnnGraph& logical);

// Returns the order that each value's readers prefer, or nullopt without preference.
std::vector<std::optional<Order>> find_preferred_orders(const XnnGraph& logical);

// The fallback order for a mean: the averaged dimensions are second and third from the end.
Order mean_order(std::size_t rank, const Axes& axes);
// The order of a mean's argument if its result is in `order`. The mean drops the dimensions `axes`.
Order dropping_order(const Order& order, const Axes& axes);

}  // namespace depute::xnnpack
