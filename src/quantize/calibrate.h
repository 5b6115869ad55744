// Runs a program on the samples of a calibration and measures the range of its activations.
#pragma once

#include "depute/compiler/quantize.h"
#include "depute/program/interpret.h"
#include "quantize/histogram_observer.h"
#include "quantize/static_plan.h"

namespace depute {

// Returns the scale of each group of the plan. Values of a group are observed as one, in graph order, one
// sample after the other. Up to `jobs` samples run in parallel if the program is stateless; otherwise `state`
// carries over from sample to sample.
Result<std::vector<Quantum>> calibrate(const Program& program, const Method& method, const StaticPlan& plan,
                                       const Calibration& calibration, int jobs, ProgramState& state,
                                       const CalibrationProgress& progress);

}  // namespace depute
