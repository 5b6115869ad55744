// Stores the weights of products (linear layers, convolutions) as f16, which halves their size. The runtime
// converts them to f32 when it packs them, so it still computes in f32. XNNPACK also reads the bias of such a
// convolution as f16.
//
//   FullyConnected(x f32, w f32, b f32)  ->  FullyConnected(x, w f16, b)
//
// Integer weights, and weights with elements beyond the range of f16 (65504), are not changed.
#pragma once

#include "backends/xnnpack/graph.h"

namespace depute::xnnpack {

void halve_weights(XnnGraph& graph);

}  // namespace depute::xnnpack
