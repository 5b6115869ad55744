// The command line of Depute with OpenVINO as one more backend. It is a program of its own since it links
// OpenVINO's libraries, which the compiler does without.
#include "depute/command_line.h"
#include "openvino_backend.h"

int main(int argc, char** argv) {
  depute::Compiler compiler;
  if (auto added = compiler.add(depute::openvino::openvino_backend()); !added)
    return depute::report_failure(added.error());
  return depute::run_command_line(argc, argv, compiler);
}
