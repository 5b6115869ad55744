// The OpenVINO worker, which `depute --backend openvino` finds on PATH. With arguments, it is Depute's
// command line with OpenVINO in process: `depute-backend-openvino show model.pte` shows the target of a blob.
// The backend is a separate program, so that the compiler does not need OpenVINO's libraries.
#include "depute/backend/serve_backend.h"
#include "depute/compiler/command_line.h"
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
