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

// Fails for a method that does not exist, or that has two calibrations.
Status check_calibrated_methods(const Program& program, std::span<const Calibration> calibrations);

// Returns the method's own calibration, or the one for all methods. Fails if there is none; `kind` is the rule that needs it.
Result<const Calibration*> calibration_of(const Method& method, std::span<const Calibration> calibrations,
                                          std::string_view kind);

}  // namespace depute
