// The command line of `depute` as a function, for compilers with backends of their own:
//
//   int main(int argc, char** argv) {
//     depute::Compiler compiler;
//     if (auto added = compiler.add(my_chip_backend()); !added) return depute::report_failure(added.error());
//     return depute::run_command_line(argc, argv, compiler);
//   }
#pragma once

#include <string>

#include "depute/compiler.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Exit codes; stable.
enum ExitCode : int {
  exit_done = 0,
  exit_error = 1,    // the input or the lowering
  exit_usage = 2,    // the command line itself
  exit_require = 3,  // a --require or a --lock did not hold, or what is compared differs
};

// Runs the command that the arguments choose (docs/cli.md) and gives the exit code. Once per process: it sets
// up signals, memory and the standard streams for one short run. `compiler` must live until the process ends;
// it gets the kernels that the command line names.
int run_command_line(int argc, char** argv, Compiler& compiler);

// What --backend [METHOD:]NAME[:key=value,...] asks for, as the user wrote it:
//
//   "xnnpack:exclude=aten.tan.default,mode=fx"  ->  {"xnnpack", {{"exclude", "aten.tan.default"}, {"mode", "fx"}}}
//   "decode:xnnpack"                            ->  {"xnnpack", method "decode"}
Result<BackendRequest> parse_backend_argument(const std::string& text);

// Prints "error[code]: where: message", the source line and the hint, to standard error. Gives the exit code:
// exit_usage for the code "usage", else exit_error.
int report_failure(const Diagnostic& diagnostic);

}  // namespace depute

#pragma GCC visibility pop
