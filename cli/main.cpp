// The program `depute`: the command line with the backends that are built in.
#include <cstdio>
#include <cstdlib>

#include "depute/command_line.h"

int main(int argc, char** argv) {
  static depute::Compiler compiler;
  int code = depute::run_command_line(argc, argv, compiler);
  // Output files are complete, and nobody needs the memory to be taken apart piece by piece.
  std::fflush(nullptr);
  std::_Exit(code);
}
