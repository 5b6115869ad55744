// The command line of `depute` as a function, for compilers with backends of their own:
//
//   int main(int argc, char** argv) {
//     depute::Compiler compiler;
//     if (auto added = compiler.add(my_chip_backend()); !added) return depute::report_failure(added.error());
//     return depute::run_command_line(argc, argv, compiler);
//   }
#pragma once

#include <string>

#include "depute/api.h"
#include "depute/compiler/compiler.h"
#include "depute/program/result.h"

namespace depute {

// Exit codes; stable.
enum ExitCode : int {
  exit_done = 0,
  exit_error = 1,  // invalid input, or lowering failed
  exit_usage = 2,  // invalid command line
  exit_require =
      3,  // a --require or --lock was violated, what is compared differs, or a runtime would not load it
};

// Runs the command that the arguments select (docs/cli.md) and returns the exit code. Call it once per
// process: it sets up signals, memory and standard streams for one short run. `compiler` must live until the
// process ends; kernels named on the command line are added to it.
DEPUTE_API int run_command_line(int argc, char** argv, Compiler& compiler);

// Parses the argument of --backend, [METHOD:]NAME[:key=value,...]. Fails if the text is malformed.
//
//   "xnnpack:off=op:tan,mode=fx"
//     ->  {"xnnpack", {{"off", "op:tan"}, {"mode", "fx"}}}
//   "decode:xnnpack"
//     ->  {"xnnpack", method "decode"}
DEPUTE_API Result<BackendRequest> parse_backend_argument(const std::string& text);

// Prints "error[code]: where: message", the source line and the hint to standard error. Returns exit_usage
// for the code "usage", else exit_error.
DEPUTE_API int report_failure(const Diagnostic& diagnostic);

}  // namespace depute
