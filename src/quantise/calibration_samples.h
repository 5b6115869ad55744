// The calls that a calibration makes, from arrays by name:
//
//   "x": f32[1, 3, 8, 8]          one sample of the input %x, or of the first one as "arg0"
//   "x": f32[16, 3, 8, 8]         16 samples of an input f32[1, 3, 8, 8]
//   "x": f32[16, 1, 3, 8, 8]      the same; the way for inputs whose first size varies
//   "x/0", "x/1", ...             a sample each, which may differ in their sizes
#pragma once

#include "depute/kernels.h"
#include "depute/quantise.h"

namespace depute {

// Returns the values of all inputs for each call, in the form of interpret().
Result<std::vector<std::vector<Content>>> calibration_samples(const Method& method,
                                                              const Calibration& calibration);

}  // namespace depute
