// The calls that a calibration makes, from arrays by name:
//
//   "x": f32[1, 3, 8, 8]          one sample of the input %x; the first input is also "arg0"
//   "x": f32[16, 3, 8, 8]         16 samples of an input f32[1, 3, 8, 8]
//   "x": f32[16, 1, 3, 8, 8]      16 samples f32[1, 3, 8, 8]; needed if the first size is dynamic
//   "x/0", "x/1", ...             one sample each; their sizes may differ
#pragma once

#include "depute/compiler/quantize.h"
#include "depute/program/interpret.h"

namespace depute {

// Returns the values of all inputs for each call, in the form of interpret().
Result<std::vector<std::vector<RuntimeValue>>> calibration_samples(const Method& method,
                                                                   const Calibration& calibration);

}  // namespace depute
