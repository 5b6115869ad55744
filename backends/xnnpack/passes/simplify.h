// Rewrites of the logical graph that reduce work. simplify() runs all of them, in this order.
#pragma once

#include "backends/xnnpack/graph.h"

namespace depute::xnnpack {

void simplify(XnnGraph& graph);

// Removes broadcasts before nodes that broadcast their operands themselves.
//
//   Expand(x, [4, 8]), Add(., y[4, 8])  ->  Add(x, y)
void drop_expands(XnnGraph& graph);

// Turns query heads that share a key head into rows of one product, so that keys are not repeated.
//
//   BatchMatrixMultiply(q[8, s, d], k[2, d, t] with each head 4 times)
//     ->  BatchMatrixMultiply(q as [2, 4*s, d], k), as [8, s, t]
void share_heads(XnnGraph& graph);

// Folds factors and summands per channel into the weights and bias of the node before, if it has one reader.
//
//   Conv2d(x, w, b), ChannelAffine(., s, t)          ->  Conv2d(x, w * s, b * s + t)
//   FullyConnected(x, w), Add(., constant[out])      ->  FullyConnected(x, w, constant)
//   FullyConnected(x, w), Reshape, Multiply(., 0.5)  ->  FullyConnected(x, w * 0.5), Reshape
void fold_affine(XnnGraph& graph);

// Folds clamps into the preceding node, if that has no other readers.
//
//   Conv2d, Clamp 0..6  ->  Conv2d with output range 0..6
void fuse_clamps(XnnGraph& graph);

// Turns zeros around height and width into the padding of the following convolution.
void fold_pads(XnnGraph& graph);

// Replaces reshapes with two or more dynamic sizes by nodes that add or drop dimensions of size 1.
//
//   Reshape(x[a, 8, b], [a, 8, 1, b])  ->  Expand(x, [1, a, 8, b]), Transpose
void move_ones(XnnGraph& graph);
// True if move_ones() can replace the reshape: `from` and `to` differ only in dimensions of size 1.
bool adds_or_drops_ones(const Dims& from, const Dims& to);
// The maximum rank of intermediate values in move_ones().
std::size_t widest_rank(const Dims& from, const Dims& to);

// Splits attention whose scores exceed the cache into parts of the queries.
//
//   BatchMatrixMultiply(q, k), Softmax, BatchMatrixMultiply(., v)
//     ->  for each part: BatchMatrixMultiply(Slice(q), k), Softmax, BatchMatrixMultiply(., v); Concat
void split_attention(XnnGraph& graph);

// Turns transposed convolutions with adjacent windows into products.
//
//   ConvTranspose2d, kernel 2x2, stride 2x2  ->  Conv2d, kernel 1x1; Reshape, Transpose, Reshape
void multiply_blocks(XnnGraph& graph);

// Computes a function of several slices once for the whole value, if this is cheaper than several nodes.
//
//   Slice(x, 0..8), Sigmoid; Slice(x, 8..16), Sigmoid  ->  Sigmoid(x); Slice(., 0..8); Slice(., 8..16)
void hoist_unaries(XnnGraph& graph);

// Stores tables whose rows have two equal halves only once.
//
//   Multiply(x, cos[1, 64, 128])  ->  Concat(half, half), Multiply(x, .)
void halve_tables(XnnGraph& graph);

// Computes with integers where floats are dequantized and quantized again.
//
//   Convert i8 -> f32, Conv2d, Convert f32 -> i8  ->  Conv2d on i8
//
// Clamps and pads may only now be next to convolutions, so those two rewrites run again.
void fuse_quantization(XnnGraph& graph);

// Prevents that results replace a smaller operand in memory. For physical graphs.
//
//   Subtract(x[b, 8], mean[1, 8]), where b may be 1  ->  Reshape(x), Subtract(., mean)
void keep_buffers(XnnGraph& physical);

}  // namespace depute::xnnpack
