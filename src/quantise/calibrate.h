// Runs a program on the samples of a calibration, and measures what its activations hold.
#pragma once

#include "depute/interpret.h"
#include "depute/quantise.h"
#include "quantise/histogram_observer.h"
#include "quantise/static_plan.h"

namespace depute {

// The scale of each group of the plan. Values of a group are observed as if they were one, in the order of
// the graph, one sample after the other. Up to `jobs` samples run at a time where the program keeps no state;
// `state` goes on.
Result<std::vector<Quantum>> calibrate(const Program& program, const Method& method, const StaticPlan& plan,
                                       const Calibration& calibration, int jobs, ProgramState& state,
                                       const CalibrationProgress& progress);

}  // namespace depute
