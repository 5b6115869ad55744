// Executes a program in ExecuTorch's runtime: the C++ SDK that the executorch wheel carries.
#pragma once

#include "tools/run/run.h"

namespace depute {

// `method` is the one that the request names, as read from its program. Fails with what the runtime logged. Checks of the
// runtime that would abort end the process with exit code 1 and a message.
Result<RunResult> run_program(const RunRequest& request, const ExecutionPlan& method);

}  // namespace depute
