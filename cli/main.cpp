// The program `depute`: the command line with the built-in backends.
#include <cstdio>
#include <cstdlib>

#include "depute/compiler/command_line.h"
#include "depute/program/name_scope.h"

int main(int argc, char** argv) {
  static depute::Compiler compiler;
  const depute::NameScope::Use names(depute::NameScope::make());  // one for all that a command reads
  int code = depute::run_command_line(argc, argv, compiler);
  // Skips destructors: output files are complete, and freeing memory piece by piece would only take time.
  std::fflush(nullptr);
  std::_Exit(code);
}
