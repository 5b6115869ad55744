// The steps of the compiler as functions of programs. No step changes its input.
//
// Each call creates a compiler with the built-in backends and those that Python has defined so far, and runs
// without the GIL. Python backends and partitioners acquire the GIL while they run.
#include "depute/compiler.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "bind.h"
#include "depute/command_line.h"
#include "depute/normalize.h"
#include "depute/quantize.h"
#include "depute/to_backend.h"
#include "depute/validation.h"

namespace depute::python {
namespace {

// Python backends: ids, and classes or workers.
using Backends = std::vector<std::pair<std::string, nb::object>>;
// name, method, options, and a Python partitioner, a worker or None
using Request = std::tuple<std::string, std::string, BackendOptions, nb::object>;

// Wraps a backend and reports each finished partition to Python's progress bar (depute/_progress.py).
class WatchedBackend final : public Backend {
 public:
  WatchedBackend(const Backend& backend, bool shares, SharedObject watch, std::shared_ptr<Raised> raised)
      : backend_(backend), shares_(shares), watch_(std::move(watch)), raised_(std::move(raised)) {}

  std::string_view id() const override { return backend_.id(); }
  std::string cache_version() const override { return backend_.cache_version(); }

  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    DEPUTE_TRY(PreprocessResult result, backend_.preprocess(program, specs));
    DEPUTE_TRY_STATUS(tell_done(1));
    return result;
  }

  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    std::size_t count = 0;
    for (const MethodPartitions& method : methods) count += method.partitions.size();
    DEPUTE_TRY_STATUS(ask("expect", std::string(id()), count));
    if (!shares_) return Backend::preprocess_multimethod(methods, jobs);
    DEPUTE_TRY(std::vector<MethodResults> results, backend_.preprocess_multimethod(methods, jobs));
    DEPUTE_TRY_STATUS(tell_done(count));
    return results;
  }

 private:
  Status tell_done(std::size_t count) const { return ask("done", count); }

  template <typename... Arguments>
  Status ask(const char* name, Arguments... arguments) const {
    Result<bool> asked = ask_python(*raised_, [&] {
      watch_->attr(name)(arguments...);
      return true;
    });
    if (!asked) return Failure(std::move(asked).error());
    return {};
  }

  const Backend& backend_;
  bool shares_;  // the backend needs all its partitions in one call
  SharedObject watch_;
  std::shared_ptr<Raised> raised_;
};

// One call: its compiler, and exceptions that Python raised during the call. `executor` preprocesses
// partitions and `watch` receives progress; both may be None.
class Call {
 public:
  explicit Call(const Backends& backends, const nb::object& executor = nb::none(),
                const nb::object& watch = nb::none()) {
    Registry registry = registry_of(backends);
    if (!watch.is_none()) watch_over(registry, backends, share(watch));
    if (!executor.is_none()) hand_over(registry, backends, executor);
    compiler_ = std::make_unique<Compiler>(std::move(registry));
  }

  BackendRequest request(const Request& row) const {
    const auto& [name, method, options, own] = row;
    BackendRequest request{.name = name, .method = method, .options = options};
    if (nb::isinstance<WorkerHandle>(own)) {
      request.name = nb::cast<const WorkerHandle&>(own).name;
    } else if (!own.is_none()) {
      request.partitioner = python_partitioner(name, own, raised_);
    }
    return request;
  }

  // Runs a function that returns a Result, without the GIL.
  template <typename Function>
  auto run(Function&& function) {
    auto result = [&] {
      nb::gil_scoped_release release;
      return function();
    }();
    return take(std::move(result), *raised_);
  }

  std::vector<BackendRequest> requests(const std::vector<Request>& rows) const {
    std::vector<BackendRequest> all;
    for (const Request& row : rows) all.push_back(request(row));
    return all;
  }

  const Compiler& compiler() const { return *compiler_; }
  const std::shared_ptr<Raised>& raised() const { return raised_; }

 private:
  Registry registry_of(const Backends& backends) const {
    Registry registry = make_registry();
    for (const auto& [id, backend] : backends) {
      if (nb::isinstance<WorkerHandle>(backend)) {
        take(registry.put(entry_of(nb::cast<const WorkerHandle&>(backend))));
      } else {
        put(registry, id, python_backend(id, backend, raised_));
      }
    }
    return registry;
  }

  static void put(Registry& registry, const std::string& id, std::unique_ptr<Backend> backend) {
    if (registry.find_backend(id) != nullptr) {
      take(registry.replace(std::move(backend)));
    } else {
      take(registry.add({.name = id, .backend = std::move(backend)}));
    }
  }

  static nb::object own_backend(const Backends& backends, const std::string& id) {
    auto own = std::ranges::find(backends, id, &Backends::value_type::first);
    return own == backends.end() ? nb::none() : own->second;
  }

  // True if the backend needs all its partitions in one call.
  static bool is_shared(const BackendEntry& entry, const nb::object& own) {
    const bool is_of_python = !own.is_none() && !nb::isinstance<WorkerHandle>(own);
    return is_of_python ? has_own_multimethod(own) : entry.together;
  }

  void watch_over(Registry& registry, const Backends& backends, const SharedObject& watch) {
    watched_ = registry_of(backends);
    for (const BackendEntry& entry : watched_.entries()) {
      const std::string id(entry.backend->id());
      const bool shares = is_shared(entry, own_backend(backends, id));
      put(registry, id, std::make_unique<WatchedBackend>(*entry.backend, shares, watch, raised_));
    }
  }

  // Sends partitions to the executor, except those of backends that need all partitions in one call.
  void hand_over(Registry& registry, const Backends& backends, const nb::object& executor) {
    std::vector<std::string> ids;
    for (const BackendEntry& entry : registry.entries()) {
      const std::string id(entry.backend->id());
      if (!is_shared(entry, own_backend(backends, id))) ids.push_back(id);
    }
    for (const std::string& id : ids)
      take(registry.replace(executor_backend(id, executor, own_backend(backends, id), raised_)));
  }

  std::shared_ptr<Raised> raised_ = std::make_shared<Raised>();
  Registry watched_;
  std::unique_ptr<Compiler> compiler_;
};

struct LowerArguments {
  bool plan_together;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> bounds;
  std::vector<std::string> quantize;
  std::vector<std::pair<std::string, std::string>> calibrate;  // method, file
  int jobs;
  bool check;
  std::string cache;
  std::optional<std::uint64_t> cache_size;
  bool edge_forms;
  bool advise;
};

LowerOptions lower_options(const LowerArguments& arguments) {
  LowerOptions options{.plan_together = arguments.plan_together,
                       .edge_forms = arguments.edge_forms,
                       .cache = {.folder = arguments.cache},
                       .jobs = arguments.jobs,
                       .verify_each_pass = arguments.check,
                       .tell_why_apart = true,
                       .tell_page_facts = true,
                       .tell_advice = arguments.advise};
  if (arguments.cache_size) options.cache.max_bytes = *arguments.cache_size;
  for (const auto& [symbol, range] : arguments.bounds) options.bounds[symbol] = {range.first, range.second};
  for (const std::string& rule : arguments.quantize)
    options.quantize.push_back(take(parse_quantize_rule(rule)));
  for (const auto& [method, file] : arguments.calibrate)
    options.calibrations.push_back({.method = method, .name = file, .arrays = take(read_npz(file))});
  return options;
}

Transform python_transform(nb::object function, const std::shared_ptr<Raised>& raised) {
  return [function = share(std::move(function)), raised](Program program) -> Result<Program> {
    ProgramHandle before = hold(std::move(program));
    DEPUTE_TRY(ProgramHandle after, ask_python(*raised, [&] {
                 nb::object transform = nb::module_::import_("depute._callbacks").attr("transform");
                 return nb::cast<ProgramHandle>(transform(*function, std::exchange(before, {})));
               }));
    return clone(*after.program);
  };
}

std::pair<ProgramHandle, Report> lower(const ProgramHandle& handle, const std::vector<Request>& requests,
                                       const Backends& backends, const std::vector<nb::object>& transforms,
                                       bool plan_together,
                                       std::map<std::string, std::pair<std::int64_t, std::int64_t>> bounds,
                                       std::vector<std::string> quantize,
                                       std::vector<std::pair<std::string, std::string>> calibrate, int jobs,
                                       bool check, std::string cache, std::optional<std::uint64_t> cache_size,
                                       bool edge_forms, bool advise, const nb::object& executor,
                                       const nb::object& watch) {
  Call call(backends, executor, watch);
  LowerOptions options =
      lower_options({plan_together, std::move(bounds), std::move(quantize), std::move(calibrate), jobs, check,
                     std::move(cache), cache_size, edge_forms, advise});
  options.backends = call.requests(requests);
  for (const nb::object& transform : transforms) {
    options.transforms.push_back(python_transform(transform, call.raised()));
  }
  if (!watch.is_none()) {
    options.observe = [watch = share(watch), raised = call.raised()](std::string_view step, const Program&) {
      auto told = ask_python(*raised, [&] { return watch->attr("step")(std::string(step)).is_none(); });
      std::ignore = told.value();  // throws the Python exception; the compiler's caller reports it
    };
    options.progress = [watch = share(watch), raised = call.raised()](std::string_view step, std::size_t done,
                                                                      std::size_t total) {
      auto told =
          ask_python(*raised, [&] { return watch->attr("part")(std::string(step), done, total).is_none(); });
      std::ignore = told.value();
    };
  }
  Compiled compiled = call.run([&] { return call.compiler().lower(clone(*handle.program), options); });
  return {hold(std::move(compiled.program)), std::move(compiled.report)};
}

std::pair<ProgramHandle, Report> to_edge(const ProgramHandle& handle, const std::vector<std::string>& keep,
                                         bool edge_forms) {
  Call call({});
  NormalizeOptions options{.edge_forms = edge_forms};
  OpsToNotDecompose& kept = options.ops_to_not_decompose.emplace_back();
  for (const std::string& op : keep) kept.ops.emplace_back(op);
  Program program = call.run([&] { return normalize(clone(*handle.program), options); });
  Report report = make_report(program);
  add_page_facts(report, program);
  return {hold(std::move(program)), std::move(report)};
}

std::pair<ProgramHandle, Report> partitioned(const ProgramHandle& handle,
                                             const std::vector<Request>& requests, const Backends& backends,
                                             int jobs, Report report, const nb::object& executor,
                                             const nb::object& watch) {
  Call call(backends, executor, watch);
  const LowerOptions options{.backends = call.requests(requests), .jobs = jobs, .tell_why_apart = true};
  Compiled compiled = call.run(
      [&] { return call.compiler().hand_over({clone(*handle.program), std::move(report)}, options); });
  return {hold(std::move(compiled.program)), std::move(compiled.report)};
}

std::pair<ProgramHandle, Report> leftovers(const ProgramHandle& handle, Report report) {
  Call call({});
  Program program = call.run([&] { return lower_undelegated(clone(*handle.program)); });
  report.delegates.clear();
  add_delegates(report, program);
  return {hold(std::move(program)), std::move(report)};
}

// Completes the report with everything that would be rejected if the program was written now.
Report explained(const ProgramHandle& handle, Report report) {
  Call call({});
  return call.run([&]() -> Result<Report> {
    report.delegates.clear();
    Result<Program> program = lower_undelegated(clone(*handle.program));
    if (program) {
      add_delegates(report, *program);
      return call.compiler().explain(std::move(report), *program);
    }
    add_delegates(report, *handle.program);
    report.refusals.push_back({.method = {}, .graph = {}, .node = {}, .cause = program.error()});
    return report;
  });
}

// Completes the report with the data of the program that emit() wrote.
Report written(const ProgramHandle& handle, Report report, const WriteOptions& options, nb::bytes pte,
               const WriteSummary& summary, const std::string& name) {
  Call call({});
  const std::span bytes(static_cast<const std::byte*>(pte.data()), pte.size());
  return call.run([&] {
    return call.compiler().explain(std::move(report), *handle.program, options, {name, bytes, summary});
  });
}

// .ptd files: paths, and patterns of data names.
using DataFiles = std::vector<std::pair<std::string, std::string>>;

WriteOptions write_options(int jobs, bool segments, std::uint64_t segment_alignment,
                           std::uint64_t delegate_alignment, bool alloc_inputs, bool alloc_outputs,
                           const DataFiles& files) {
  std::vector<DataFile> ptd;
  for (const auto& [path, pattern] : files) ptd.push_back({.path = path, .pattern = pattern});
  return {.jobs = jobs,
          .ptd = std::move(ptd),
          .extract_delegate_segments = segments,
          .segment_alignment = segment_alignment,
          .delegate_alignment = delegate_alignment,
          .alloc_inputs = alloc_inputs,
          .alloc_outputs = alloc_outputs};
}

// Preprocesses one partition on behalf of a worker. Returns the rows of a PreprocessResult.
nb::tuple preprocess(const std::string& backend_id, const ProgramHandle& handle,
                     const std::vector<NamedBytes>& specs, const Backends& backends) {
  Call call(backends);
  const Backend* backend = call.compiler().registry().find_backend(backend_id);
  if (backend == nullptr) throw nb::key_error(("there is no backend '" + backend_id + "'").c_str());
  const std::vector<CompileSpec> compile_specs = compile_specs_of(specs);
  return rows_of(call.run([&] { return backend->preprocess(*handle.program, compile_specs); }));
}

nb::tuple emit(const ProgramHandle& handle, const WriteOptions& options, const std::string& name) {
  Call call({});
  PteBytes bytes = call.run([&] { return call.compiler().emit(*handle.program, options, name); });
  nb::dict external;
  for (const auto& [path, content] : bytes.external) external[path.c_str()] = bytes_of(content);
  return nb::make_tuple(bytes_of(bytes.pte), external, std::move(bytes.summary));
}

std::string debug_map(const ProgramHandle& handle, const WriteOptions& options, const std::string& name) {
  Call call({});
  return call.run([&] { return call.compiler().debug_map(*handle.program, options, name); });
}

int command_line(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  // One compiler per command line, since --kernels adds ops to it. Compilers are kept until the process ends.
  static std::vector<std::unique_ptr<Compiler>> compilers;
  Compiler& compiler = *compilers.emplace_back(std::make_unique<Compiler>());
  return run_command_line(static_cast<int>(copies.size()), argv.data(), compiler);
}

// Parses a --backend argument: name or "exec:FILE", method ("" for all), options.
nb::tuple backend_argument(const std::string& text) {
  const Result<BackendRequest> request = parse_backend_argument(text);
  if (!request) raise(request.error());
  const std::string name = request->program.empty() ? request->name : "exec:" + request->program;
  return nb::make_tuple(name, request->method, request->options);
}

using BackendRow =
    std::tuple<std::string, std::string, std::string, std::vector<std::pair<std::string, std::string>>, bool>;
std::vector<BackendRow> backend_rows() {
  std::vector<BackendRow> rows;
  const Registry registry = make_registry();
  for (const BackendEntry& entry : registry.entries()) {
    rows.emplace_back(entry.name, std::string(entry.backend->id()), entry.description, entry.options,
                      static_cast<bool>(entry.make_partitioner));
  }
  return rows;
}

}  // namespace

nb::object make_delegate(Delegate delegate);

namespace {

nb::object whole(const std::string& backend_id, const ProgramHandle& handle,
                 const std::vector<NamedBytes>& specs, const Backends& backends) {
  Call call(backends);
  const std::vector<CompileSpec> compile_specs = compile_specs_of(specs);
  Delegate delegate = call.run(
      [&] { return to_backend(backend_id, *handle.program, compile_specs, call.compiler().registry()); });
  return make_delegate(std::move(delegate));
}

}  // namespace

void bind_compiler(nb::module_& module) {
  nb::class_<WriteOptions>(module, "WriteOptions")
      .def("__init__", [](WriteOptions* self, int jobs, bool segments, std::uint64_t segment_alignment,
                          std::uint64_t delegate_alignment, bool alloc_inputs, bool alloc_outputs,
                          const DataFiles& files) {
        new (self) WriteOptions(write_options(jobs, segments, segment_alignment, delegate_alignment,
                                              alloc_inputs, alloc_outputs, files));
      });
  nb::class_<ValidationDisabled>(module, "ValidationDisabled").def(nb::init<>());
  module.def("preprocess", &preprocess);
  module.def("lower", &lower, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("executor").none(), nb::arg("watch").none());
  module.def("to_edge", &to_edge, nb::arg(), nb::arg(), nb::arg("edge_forms") = false);
  module.def("to_backend", &partitioned, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("executor").none(), nb::arg("watch").none());
  module.def("to_backend_whole", &whole);
  module.def("lower_undelegated", &leftovers);
  nb::class_<WriteSummary>(module, "WriteSummary").def_ro("warnings", &WriteSummary::warnings);
  module.def("emit", &emit);
  module.def("explained", &explained);
  module.def("written", &written);
  module.def("debug_map", &debug_map);
  module.def("command_line", &command_line);
  module.def("backend_argument", &backend_argument);
  module.def("backends", &backend_rows);
  module.def("disable_validation", &disable_validation);
  module.def("is_validation_enabled", &is_validation_enabled);
  module.def("version", &version);
}

}  // namespace depute::python
