// Weights of products in the integers that the program has, as XNNPACK packs them: 8 bits with a scale for
// each output channel, or 4 bits, two to a byte, with one for each channel or for each block of a row.
#pragma once

#include "graph.h"

namespace depute::xnnpack {

struct PackedWeight {
  Constant integers;
  Dims sizes;  // of the numbers
  Quantisation quantisation;
  std::optional<Constant> scales;  // f32, one for each output channel; none where there are blocks
  bool is_transposed = false;      // the node's flag goes
};

// Of a product whose constant weights are quantised, with scales where XNNPACK can have them; else nothing.
std::optional<PackedWeight> packed_weight(const XnnGraph& graph, const XnnNode& product);
void use_packed(XnnGraph& graph, XnnNode& product, const PackedWeight& weight);

// A bias in units, one for each of its elements: i32, the nearest.
Constant in_units(const Constant& bias, const Constant& units);

// Products of numbers take their weights packed where XNNPACK has such a node. What is quantised otherwise
// becomes numbers when it is written.
void pack_weights(XnnGraph& graph);

}  // namespace depute::xnnpack
