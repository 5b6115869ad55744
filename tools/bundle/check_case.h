// Compares results with the expected outputs of a test case, by the rule of ExecuTorch's own verification.
#pragma once

#include <span>
#include <vector>

#include "depute/tools/bundle.h"
#include "depute/tools/verify.h"

namespace depute {

// An element a of floats is right if |a - b| <= atol + |rtol * b| for the result b. NaN equals NaN, and each infinity itself.
struct CaseTolerance {
  double rtol = 1e-5;  // ExecuTorch's defaults
  double atol = 1e-8;
};

// Verdicts of the outputs, in order; one verdict if their number differs. f32, f64 and f16 have the tolerance; other types must
// be equal.
std::vector<OutputError> check_case(const TestCase& test, std::span<const RuntimeValue> results,
                                    const CaseTolerance& tolerance);

}  // namespace depute
