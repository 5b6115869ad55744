// Convolutions whose weights become integers and whose input is quantised when the program runs, each image
// with a scale of its own, in the ops that PT2E's dynamic quantiser writes.
//
//   %c = aten.conv2d.default(%x, %w, %b)   ->   %s, %z = quantized_decomposed.choose_qparams.tensor(%x, ..)
//                                               %q = quantized_decomposed.quantize_per_tensor.tensor(%x, %s,
//                                               %z, ..) %d =
//                                               quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z,
//                                               ..) %c = aten.conv2d.default(%d, %w', %b) %w' =
//                                               quantized_decomposed.dequantize_per_channel.default(..)
#pragma once

#include <functional>

#include "depute/quantise.h"

namespace depute {

// Batch norms become a part of the weights before. The program is functional. Adds to `result`, with the
// convolutions that `chooses` takes and that stay: depthwise ones and those over three dimensions have no
// such form in any runtime.
Status quantise_convolutions(Program& program, const std::function<bool(const Node&)>& chooses, int jobs,
                             QuantiseResult& result);

}  // namespace depute
