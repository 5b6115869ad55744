// Runs a backend as a separate program (worker), which `--backend NAME` finds as depute-backend-NAME. This is
// the worker's side of docs/backend-protocol.md.
//
//   #include "depute/backend/serve_backend.h"
//   int main(int argc, char** argv) { return depute::serve_backend<MyPartitioner, MyBackend>(argc, argv); }
//
// A worker's classes also work in process, in a Compiler's registry. A partitioner class has `static
// Result<std::unique_ptr<Partitioner>> make(const BackendOptions&)`, or a default constructor if it has no
// options. Further static functions describe the backend; all are optional:
//
//   MyPartitioner::options()     std::vector<std::pair<std::string, std::string>>: keys and meanings
//   MyPartitioner::support()     std::vector<SupportRow>: the ops that the partitioner takes
//   MyBackend::description()     one line for `depute backends`
//   MyBackend::version()         version of the vendor's compiler, for people: "chip compiler 3.1, chip 7"
//   MyBackend::libraries()       std::vector<std::string>: libraries of the own ops
//   MyBackend::ops()             std::vector<BackendOpSpec>: the own ops; their `infer` is not sent
//
// The worker sends its answers on standard output. Other output to it, for example of a vendor library, is
// redirected to standard error.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "depute/api.h"
#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/registry.h"
#include "depute/program/result.h"

namespace depute {

// Properties of a worker besides its BackendEntry.
struct WorkerTraits {
  std::string version = {};
  bool together = false;  // pass all partitions of a program to one preprocess_multimethod() call
};

// Answers requests until the input ends; returns the exit code of the process. With command-line arguments it
// prints information instead, as for `--version` and `--help`.
DEPUTE_API int serve_backend(int argc, char** argv, BackendEntry entry, const WorkerTraits& traits = {});
// Serves a registered backend.
DEPUTE_API int serve_backend(int argc, char** argv, const Registry& registry, std::string_view name,
                             const WorkerTraits& traits = {});

// Makes a registry entry of the classes, to use them in process.
template <typename MyPartitioner, typename MyBackend>
BackendEntry entry_of(std::string name) {
  BackendEntry entry;
  entry.name = std::move(name);
  entry.backend = std::make_unique<MyBackend>();
  if constexpr (requires { MyBackend::description(); }) entry.description = MyBackend::description();
  if constexpr (requires { MyBackend::libraries(); }) entry.libraries = MyBackend::libraries();
  if constexpr (requires { MyBackend::ops(); }) entry.ops = MyBackend::ops();
  if constexpr (requires { MyPartitioner::options(); }) entry.options = MyPartitioner::options();
  if constexpr (requires { MyPartitioner::support(); })
    entry.support = [] { return MyPartitioner::support(); };
  if constexpr (requires(const BackendOptions& options) { MyPartitioner::make(options); }) {
    entry.make_partitioner = [](const BackendOptions& options) -> Result<std::unique_ptr<Partitioner>> {
      return MyPartitioner::make(options);
    };
  } else {
    entry.make_partitioner =
        [own = entry.name](const BackendOptions& options) -> Result<std::unique_ptr<Partitioner>> {
      if (!options.empty())
        return failure("usage", "--backend " + own, "unknown option '" + options[0].first + "'",
                       "`depute backends " + own + "` lists the options");
      return std::make_unique<MyPartitioner>();
    };
  }
  return entry;
}

// Backend name from a worker's program name: "/bin/depute-backend-chip" -> "chip".
DEPUTE_API std::string worker_name(const char* program);

template <typename MyPartitioner, typename MyBackend>
int serve_backend(int argc, char** argv) {
  WorkerTraits traits;
  if constexpr (requires { MyBackend::version(); }) traits.version = MyBackend::version();
  traits.together = !std::is_same_v<decltype(&MyBackend::preprocess_multimethod),
                                    decltype(&Backend::preprocess_multimethod)>;
  return serve_backend(argc, argv, entry_of<MyPartitioner, MyBackend>(worker_name(argc > 0 ? argv[0] : "")),
                       traits);
}

}  // namespace depute
