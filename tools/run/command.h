// The two halves of the command `run`; runtime/main.cpp is the second.
#pragma once

#include <span>

#include "cli/commands.h"
#include "tools/run/run.h"

namespace depute {

using RunProgram = Result<RunResult> (*)(const RunRequest& request);

// Checks the options, then replaces this process by the program depute-run with these words, the command and its options.
Command run_command(std::span<char*> words);

// Executes the command by `run_program`.
Command run_command(RunProgram run_program);

}  // namespace depute
