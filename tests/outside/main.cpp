// The command line of Depute with the chip as one more backend.
#include <depute/compiler.h>

#include "chip.h"

int main(int argc, char** argv) {
  depute::Compiler compiler;
  if (auto added = compiler.add(chip_backend()); !added) return depute::report_failure(added.error());
  return depute::run_command_line(argc, argv, compiler);
}
