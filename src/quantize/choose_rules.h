// Finds rules that reach the goal of an auto rule: the fewest bytes with at most so much noise, or the least noise in so many bytes.
//
//   auto:sqnr>=30   ->   linear=8da4w:group=32,only=node:up,only=node:down
//                        linear=8da8w,only=node:head
//
// Each layer is quantized alone, in each way, and the reference kernels run the program on the calibration samples: the noise in its
// outputs is what the layer adds. From the smallest form of all layers on, the layer is enlarged that takes the most noise away for a
// byte, until all are floats: a path along which a program grows and its noise falls. The place on it is found by running the programs.
#pragma once

#include <span>

#include "depute/compiler/quantize.h"

namespace depute {

// `program` is functional. Fails if no rule reaches the goal.
Result<AutoRules> choose_rules(const Program& program, const QuantizeRule& rule,
                               std::span<const Calibration> calibrations, int jobs,
                               const CalibrationProgress& progress);

}  // namespace depute
