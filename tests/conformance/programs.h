// The programs that backends are tried with: every recorded call of an op, alone; the sample models; and
// programs with control flow and state.
#pragma once

#include <string>
#include <vector>

#include "depute/program/interpret.h"
#include "depute/program/program.h"

namespace depute {

struct TestProgram {
  std::string name;
  Program program;  // as it was read: not normalized
};

// Each call of tests/unit/ops/op_types.ir as a program of one node: with its tensors as inputs, and with all
// but the first as parameters.
std::vector<TestProgram> op_programs();
// tests/models/samples and tests/conformance/programs.
std::vector<TestProgram> model_programs();
// backends/*/conformance. Each backend is tried with those of all others too: backends that share rules share programs.
std::vector<TestProgram> backend_programs();

// Small numbers for the method's inputs without data; empty when one of them cannot be made up.
std::vector<RuntimeValue> made_up_inputs(const Method& method);

}  // namespace depute
