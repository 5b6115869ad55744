// Weights of products (linear layers, convolutions) stored as f16: half the bytes of the file. The runtime
// makes them f32 again when it packs them, so that what is computed stays f32. XNNPACK reads the bias of a
// convolution with such weights as f16, too.
//
//   FullyConnected(x f32, w f32, b f32)  ->  FullyConnected(x, w f16, b)
//
// A weight with elements that f16 cannot hold (beyond 65504) stays as it is, and so do integers.
#pragma once

#include "graph.h"

namespace depute::xnnpack {

void halve_weights(XnnGraph& graph);

}  // namespace depute::xnnpack
