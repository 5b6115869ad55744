// Python classes as a program that `depute --backend NAME` asks: depute.serve_backend() and the C++ kit it
// stands on.
//
//   depute.serve_backend(MulPartitioner, MulBackend)    ->   answers lines of JSON until its input ends
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.h"
#include "depute/serve_backend.h"

namespace depute::python {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;  // key, meaning

BackendEntry entry_of(const std::string& name, const nb::object& backend, const nb::object& make_partitioner,
                      Options options) {
  auto raised = std::make_shared<Raised>();
  BackendEntry entry;
  entry.name = name;
  entry.backend = python_backend(nb::cast<std::string>(backend.attr("__name__")), backend, raised);
  entry.options = std::move(options);
  entry.make_partitioner = [name, known = entry.options, make = share(make_partitioner),
                            raised](const BackendOptions& given) -> Result<std::unique_ptr<Partitioner>> {
    for (const auto& [key, value] : given) {
      if (std::ranges::find(known, key, &Options::value_type::first) != known.end()) continue;
      return failure("usage", "--backend " + name, "unknown option '" + key + "=" + value + "'",
                     "`depute backends " + name + "` lists the options");
    }
    return ask_python(*raised, [&] { return python_partitioner(name, (*make)(given), raised); });
  };
  return entry;
}

// Gives the exit code where arguments asked what the program is; else it ends the process.
int serve(std::vector<std::string> words, const nb::object& backend, const nb::object& make_partitioner,
          Options options, const std::string& description, const std::string& version) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  BackendEntry entry = entry_of(worker_name(argv[0]), backend, make_partitioner, std::move(options));
  entry.description = description;
  const WorkerTraits traits{.version = version, .together = has_own_multimethod(backend)};
  nb::gil_scoped_release release;
  return serve_backend(static_cast<int>(words.size()), argv.data(), std::move(entry), traits);
}

}  // namespace

void bind_worker(nb::module_& module) {
  module.def("serve_backend", &serve);
}

}  // namespace depute::python
