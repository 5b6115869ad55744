// Both sides of worker programs: serving Python classes as a worker, and using a worker in Python.
//
//   depute.serve_backend(MulPartitioner, MulBackend)    ->   answers lines of JSON until its input ends
//   depute.worker_backend("chip")                       ->   a backend that runs depute-backend-chip
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>

#include "bind.h"
#include "depute/backend/serve_backend.h"

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

// Returns the exit code if the arguments only ask for information; otherwise the process ends here.
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

// Forwards to the worker's backend, which other users may share.
class AskedWorker final : public Backend {
 public:
  explicit AskedWorker(const WorkerHandle& worker) : worker_(worker) {}

  std::string_view id() const override { return backend().id(); }
  std::string cache_version() const override { return backend().cache_version(); }
  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    return backend().preprocess(program, specs);
  }
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    return backend().preprocess_multimethod(methods, jobs);
  }

 private:
  const Backend& backend() const { return *worker_.entry().backend; }

  WorkerHandle worker_;
};

// Starts "exec:FILE" or depute-backend-NAME on PATH. None if NAME is built in or there is no such program.
std::optional<WorkerHandle> start_worker(const std::string& name, std::optional<int> seconds,
                                         std::optional<std::uint64_t> max_bytes, bool sandbox) {
  nb::gil_scoped_release release;
  auto compiler = std::make_shared<Compiler>();
  WorkerHandle worker;
  if (seconds) worker.options.seconds = *seconds;
  if (max_bytes) worker.options.max_bytes = *max_bytes;
  worker.options.sandbox = sandbox;
  std::vector<BackendRequest> asked(1);
  if (constexpr std::string_view exec = "exec:"; name.starts_with(exec)) {
    asked[0].program = worker.program = name.substr(exec.size());
  } else if (compiler->registry().find(name) == nullptr) {
    asked[0].name = name;
    worker.program = find_worker(name);
  }
  if (worker.program.empty()) return std::nullopt;
  const Status added = add_workers(*compiler, asked, worker.options);
  nb::gil_scoped_acquire acquire;
  take(added);
  worker.name = asked[0].name;
  worker.program = std::filesystem::absolute(worker.program).lexically_normal().string();
  worker.compiler = std::move(compiler);
  return worker;
}

}  // namespace

BackendEntry entry_of(const WorkerHandle& worker) {
  const BackendEntry& known = worker.entry();
  BackendEntry entry;
  entry.name = known.name;
  entry.description = known.description;
  entry.backend = std::make_unique<AskedWorker>(worker);
  entry.make_partitioner = [worker](const BackendOptions& options) {
    return make_partitioner(worker.entry(), options);
  };
  entry.support = [worker] { return worker.entry().support(); };
  entry.options = known.options;
  entry.libraries = known.libraries;
  entry.ops = known.ops;
  entry.together = known.together;
  return entry;
}

void bind_worker(nb::module_& module) {
  nb::class_<WorkerHandle>(module, "WorkerBackend")
      .def_ro("name", &WorkerHandle::name)
      .def_ro("program", &WorkerHandle::program)
      .def_prop_ro("id", [](const WorkerHandle& self) { return std::string(self.entry().backend->id()); })
      .def_prop_ro("description", [](const WorkerHandle& self) { return self.entry().description; })
      .def_prop_ro("options",
                   [](const WorkerHandle& self) {
                     nb::dict options;
                     for (const auto& [key, meaning] : self.entry().options) options[key.c_str()] = meaning;
                     return options;
                   })
      .def("__repr__",
           [](const WorkerHandle& self) {
             return nb::str("depute.worker_backend({!r})").format("exec:" + self.program);
           })
      // Unpickling starts a new process.
      .def("__reduce__", [](const WorkerHandle& self) {
        return nb::make_tuple(
            nb::module_::import_("depute.partitioning").attr("_started_again"),
            nb::make_tuple(self.program, self.options.seconds, self.options.max_bytes, self.options.sandbox));
      });
  module.def("start_worker", &start_worker, nb::arg("name"), nb::arg("seconds") = nb::none(),
             nb::arg("max_bytes") = nb::none(), nb::arg("sandbox") = true);
  module.def("serve_backend", &serve);
}

}  // namespace depute::python
