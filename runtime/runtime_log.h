// Keeps what ExecuTorch's runtime logs, for messages of errors; standard error gets none of it.
#pragma once

#include <string>

namespace depute {

// Registers the log; called once. From then on a check of the runtime that fails ends the process with its message.
void keep_runtime_log();

// The errors logged since the last call, one after the other.
std::string take_logged_errors();

}  // namespace depute
