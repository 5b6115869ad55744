// OpenVINO as a worker, which `depute --backend openvino` finds on PATH, and with words the command line of
// Depute with OpenVINO in process: `depute-backend-openvino show model.pte` tells what a blob was made for. A
// program of its own since it links OpenVINO's libraries, which the compiler does without.
#include "depute/command_line.h"
#include "depute/serve_backend.h"
#include "openvino_backend.h"

int main(int argc, char** argv) {
  depute::BackendEntry entry = depute::openvino::openvino_backend();
  const std::string version = entry.backend->cache_version();
  if (argc <= 1)
    return depute::serve_backend(argc, argv, std::move(entry), {.version = version, .together = true});
  depute::Compiler compiler;
  if (auto added = compiler.add(std::move(entry)); !added) return depute::report_failure(added.error());
  return depute::run_command_line(argc, argv, compiler);
}
