// The subcommands of `depute`. Each adds itself to the app and returns what runs when it was chosen: an exit
// code.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "lower/registry.h"
#include "support/result.h"

namespace CLI {
class App;
}

namespace depute {

// Exit codes of the command line; stable.
enum ExitCode : int {
  exit_done = 0,
  exit_error = 1,    // the input or the lowering
  exit_usage = 2,    // the command line itself
  exit_require = 3,  // a --require did not hold
};

using Command = std::function<int()>;

Command add_lower_command(CLI::App& app, const Registry& registry);
Command add_explain_command(CLI::App& app, const Registry& registry);
Command add_show_command(CLI::App& app);
Command add_backends_command(CLI::App& app, const Registry& registry);

// Prints "error[code]: where: message", the source line and the hint, to standard error.
int report_error(const Diagnostic& diagnostic);
// The same with the exit code of a wrong command line.
int report_usage(const Diagnostic& diagnostic);
// Either of them, by the code of the diagnostic.
int report_failure(const Diagnostic& diagnostic);

bool is_terminal();  // standard output is one, and NO_COLOR is not set

// Writes all of `text` to standard output; fails when the reader is gone or the disk is full.
int print_out(const std::string& text);
Status write_to(std::FILE* stream, const std::string& text);
int print_to(std::FILE* stream, const std::string& text);  // the same, and says what failed

}  // namespace depute
