// Static quantization: integer weights and activations, with scales measured before the program runs, in the
// ops that PT2E's convert writes.
//
//   %c = aten.conv2d.default(%x, %w, %b)
//     ->
//   %q = quantized_decomposed.quantize_per_tensor.default(%x, ..)
//   %d = quantized_decomposed.dequantize_per_tensor.default(%q, ..)
//   %wd = quantized_decomposed.dequantize_per_channel.default(%"w.int8.0", ..)
//   %c = aten.conv2d.default(%d, %wd, %b)
//   %r = quantized_decomposed.quantize_per_tensor.default(%c, ..)           and dequantized for its users
#pragma once

#include <functional>

#include "depute/compiler/quantize.h"

namespace depute {

// Folds batch norms, runs each method on its samples, and quantizes the nodes that `chooses` accepts. The
// program must be functional. Adds to `result`. `rule` has the options of all static rules. Returns the number of values
// that are integers now.
Result<std::size_t> quantize_static(Program& program, std::span<const Calibration> calibrations,
                                    const std::function<bool(const Node&)>& chooses, const QuantizeRule& rule,
                                    int jobs, const CalibrationProgress& progress, QuantizeResult& result);

}  // namespace depute
