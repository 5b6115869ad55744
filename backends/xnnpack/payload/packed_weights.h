// Quantized weights of products in XNNPACK's packed form: 8 bits with one scale per output channel, or 4 bits
// (two per byte) with one scale per channel or per block of a row.
#pragma once

#include "backends/xnnpack/graph.h"

namespace depute::xnnpack {

struct PackedWeight {
  Constant integers;
  Dims sizes;  // sizes of the represented floats
  Quantization quantization;
  std::optional<Constant> scales;  // f32, one per output channel; nullopt for blocks
  bool is_transposed = false;      // the node's flag transpose_weights must be cleared
};

// Returns the packed weight of a product, or nullopt if it is not quantized or XNNPACK rejects the scales.
std::optional<PackedWeight> packed_weight(const XnnGraph& graph, const XnnNode& product);
void use_packed(XnnGraph& graph, XnnNode& product, const PackedWeight& weight);

// Converts a bias to i32 multiples of `units`, one unit per element, rounded to nearest.
Constant in_units(const Constant& bias, const Constant& units);

// Packs the weights of products with float inputs if XNNPACK has such a node. Other quantized constants
// become floats when they are written.
void pack_weights(XnnGraph& graph);

}  // namespace depute::xnnpack
