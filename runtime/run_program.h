// Executes a program in ExecuTorch's runtime: the C++ SDK that the executorch wheel carries.
#pragma once

#include "tools/run/run.h"

namespace depute {

// Fails with what the runtime logged. Its checks that end a process end this one, too, with exit code 1 and a message.
Result<RunResult> run_program(const RunRequest& request);

}  // namespace depute
