// The program depute-run, which is linked with ExecuTorch's runtime: commands that need it are executed there. `depute` checks
// their options, then becomes depute-run with the same words.
#pragma once

#include <span>
#include <string>

#include "depute/program/result.h"

namespace depute {

// Looks for it as become_runner() does, and returns its path.
Result<std::string> find_runner(const std::string& runtime);

// Looks for it beside `depute`, beside the Python package's module and on PATH. `runtime`: the folder of another Python package
// executorch, or empty. `words`: the command and its options. Returns on failure alone.
Result<int> become_runner(const std::string& runtime, std::span<char*> words);

}  // namespace depute
