// Quantizes convolutions to integer weights and dynamically quantized inputs (one scale per image), in the
// ops of PT2E's dynamic quantizer.
//
//   %c = aten.conv2d.default(%x, %w, %b)
//     ->
//   %wd = quantized_decomposed.dequantize_per_channel.default(%"w.int8.0", ..)
//   %s, %z = quantized_decomposed.choose_qparams.tensor(%x, ..)
//   %q = quantized_decomposed.quantize_per_tensor.tensor(%x, %s, %z, ..)
//   %d = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, %z, ..)
//   %c = aten.conv2d.default(%d, %wd, %b)
#pragma once

#include <functional>

#include "depute/compiler/quantize.h"

namespace depute {

// Folds batch norms into the weights before them. The program must be functional. Adds to `result`, including
// chosen convolutions that cannot be quantized: no runtime has kernels for depthwise ones or for more than
// two spatial dimensions.
Status quantize_convolutions(Program& program, const std::function<bool(const Node&)>& chooses, int jobs,
                             QuantizeResult& result);

}  // namespace depute
