// Rewrites of the logical graph that leave less to compute. simplify() runs them all, in this order.
#pragma once

#include "graph.h"

namespace depute::xnnpack {

void simplify(XnnGraph& graph);

// Broadcasts disappear in front of nodes that broadcast by themselves.
//
//   Expand(x, [4, 8]), Add(., y[4, 8])  ->  Add(x, y)
void drop_expands(XnnGraph& graph);

// Query heads that share a head of keys become rows of one product; the keys are not repeated.
//
//   BatchMatrixMultiply(q[8, s, d], k[2, d, t] with each head 4 times)
//     ->  BatchMatrixMultiply(q as [2, 4*s, d], k), as [8, s, t]
void share_heads(XnnGraph& graph);

// Factors and summands per channel move into the weights and biases of the node before, when nothing else
// reads it.
//
//   Conv2d(x, w, b), ChannelAffine(., s, t)          ->  Conv2d(x, w * s, b * s + t)
//   FullyConnected(x, w), Add(., constant[out])      ->  FullyConnected(x, w, constant)
//   FullyConnected(x, w), Reshape, Multiply(., 0.5)  ->  FullyConnected(x, w * 0.5), Reshape
void fold_affine(XnnGraph& graph);

// Clamps move into the node before, when nothing else reads it.
//
//   Conv2d, Clamp 0..6  ->  Conv2d with output range 0..6
void fuse_clamps(XnnGraph& graph);

// Zeros around height and width become the padding of the convolution behind.
void fold_pads(XnnGraph& graph);

// Reshapes that XNNPACK cannot infer, since two sizes are open, become nodes that add or drop dimensions of
// size 1.
//
//   Reshape(x[a, 8, b], [a, 8, 1, b])  ->  Expand(x, [1, a, 8, b]), Transpose
void move_ones(XnnGraph& graph);
// Whether it can: `from` and `to` differ in dimensions of size 1 alone.
bool adds_or_drops_ones(const Dims& from, const Dims& to);
// The dimensions that it needs on the way.
std::size_t widest_rank(const Dims& from, const Dims& to);

// Attention with more scores than caches hold is computed for some queries at a time.
//
//   BatchMatrixMultiply(q, k), Softmax, BatchMatrixMultiply(., v)  ->  the same of Slice(q) for each part,
//   Concat
void split_attention(XnnGraph& graph);

// Transposed convolutions whose windows lie side by side become products.
//
//   ConvTranspose2d, kernel 2x2, stride 2x2  ->  Conv2d, kernel 1x1; Reshape, Transpose, Reshape
void multiply_blocks(XnnGraph& graph);

// What several slices of a value go through is computed for all of it, where this is cheaper than nodes.
//
//   Slice(x, 0..8), Sigmoid; Slice(x, 8..16), Sigmoid  ->  Sigmoid(x); Slice(., 0..8); Slice(., 8..16)
void hoist_unaries(XnnGraph& graph);

// Tables to multiply by, whose rows are the same numbers twice, lie in the file once.
//
//   Multiply(x, cos[1, 64, 128])  ->  Concat(half, half), Multiply(x, .)
void halve_tables(XnnGraph& graph);

// Numbers that are made of integers and become integers again are computed with as integers.
//
//   Convert i8 -> f32, Conv2d, Convert f32 -> i8  ->  Conv2d on i8
//
// Clamps and pads lie beside convolutions only then, so the two rewrites of those follow.
void fuse_quantisation(XnnGraph& graph);

}  // namespace depute::xnnpack
