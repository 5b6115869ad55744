// The steps of the compiler as functions of programs. No step changes its input.
//
// Each call creates a compiler with the built-in backends and those that Python has defined so far, and runs
// without the GIL. Python backends and partitioners acquire the GIL while they run.
#include "depute/compiler/compiler.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "bind.h"
#include "depute/compiler/command_line.h"
#include "depute/compiler/compile.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/quantize.h"
#include "depute/compiler/to_backend.h"
#include "depute/tools/report.h"
#include "tools/report/page_facts.h"
#include "tools/report/report_steps.h"

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
    DEPUTE_TRY_STATUS(report_done(1));
    return result;
  }

  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    std::size_t count = 0;
    for (const MethodPartitions& method : methods) count += method.partitions.size();
    DEPUTE_TRY_STATUS(ask("expect", std::string(id()), count));
    if (!shares_) return Backend::preprocess_multimethod(methods, jobs);
    DEPUTE_TRY(std::vector<MethodResults> results, backend_.preprocess_multimethod(methods, jobs));
    DEPUTE_TRY_STATUS(report_done(count));
    return results;
  }

 private:
  Status report_done(std::size_t count) const { return ask("done", count); }

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

// Facts for a report that its stage does not know.
struct Notes {
  std::string input;  // file name of the model; empty: a program in memory
  std::vector<StepTime> times = {};
  std::optional<std::vector<Advice>> advice = {};
  bool is_advice_left_out = false;
};

struct LowerArguments {
  bool joint_planning;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> bounds;
  std::vector<std::string> quantize;
  std::vector<std::pair<std::string, std::string>> calibrate;  // method, file
  int jobs;
  bool check;
  std::string cache;
  std::optional<std::uint64_t> cache_size;
  bool edge_forms;
};

LowerOptions lower_options(const LowerArguments& arguments) {
  LowerOptions options{.joint_planning = arguments.joint_planning,
                       .edge_forms = arguments.edge_forms,
                       .cache = {.store = arguments.cache, .max_bytes = arguments.cache_size},
                       .jobs = arguments.jobs,
                       .verify_each_pass = arguments.check};
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

// Reports the compiler's steps to Python's progress bar.
void watch_steps(LowerOptions& options, const nb::object& watch, const std::shared_ptr<Raised>& raised) {
  if (watch.is_none()) return;
  options.observe = [watch = share(watch), raised](std::string_view step, const Program&) {
    auto asked = ask_python(*raised, [&] { return watch->attr("step")(std::string(step)).is_none(); });
    std::ignore = asked.value();  // throws the Python exception; the compiler's caller reports it
  };
  options.progress = [watch = share(watch), raised](std::string_view step, std::size_t done,
                                                    std::size_t total) {
    auto asked =
        ask_python(*raised, [&] { return watch->attr("part")(std::string(step), done, total).is_none(); });
    std::ignore = asked.value();
  };
}

std::pair<Delegated, Notes> lower(const ProgramHandle& handle, const std::vector<Request>& requests,
                                  const Backends& backends, const std::vector<nb::object>& transforms,
                                  bool joint_planning,
                                  std::map<std::string, std::pair<std::int64_t, std::int64_t>> bounds,
                                  std::vector<std::string> quantize, const std::vector<std::string>& recipes,
                                  std::vector<std::pair<std::string, std::string>> calibrate, int jobs,
                                  bool check, std::string cache, std::optional<std::uint64_t> cache_size,
                                  bool edge_forms, bool advise, const nb::object& executor,
                                  const nb::object& watch) {
  Call call(backends, executor, watch);
  LowerOptions options =
      lower_options({joint_planning, std::move(bounds), std::move(quantize), std::move(calibrate), jobs,
                     check, std::move(cache), cache_size, edge_forms});
  options.backends = call.requests(requests);
  for (const std::string& name : recipes) take(add_recipe(call.compiler().registry(), name, options));
  for (const nb::object& transform : transforms) {
    options.transforms.push_back(python_transform(transform, call.raised()));
  }
  watch_steps(options, watch, call.raised());
  Compiled compiled = call.run([&]() -> Result<Compiled> {
    DEPUTE_TRY(Exported exported, call.compiler().load(clone(*handle.program)));
    return lower_and_report(call.compiler(), std::move(exported), options,
                            {.page = advise, .advice = advise});
  });
  Notes notes{.input = {}, .times = std::move(compiled.report.times)};
  if (advise) {
    notes.advice = std::move(compiled.report.page->advice);
    notes.is_advice_left_out = compiled.report.page->is_advice_left_out;
  }
  return {std::move(compiled.delegated), std::move(notes)};
}

// Normalizes a program for these requests. `preserved`: ops that are not decomposed, besides the requests' own.
Edge to_edge(const ProgramHandle& handle, const std::vector<std::string>& preserved,
             const std::vector<Request>& requests, const Backends& backends, bool edge_forms) {
  Call call(backends);
  const LowerOptions options{
      .backends = call.requests(requests), .edge_forms = edge_forms, .preserve_ops = preserved};
  return call.run([&]() -> Result<Edge> {
    DEPUTE_TRY(Exported exported, call.compiler().load(clone(*handle.program)));
    return call.compiler().to_edge(std::move(exported), options);
  });
}

// Adds the taps of rules. Returns the program, and a dict for each tap.
nb::tuple tap(const ProgramHandle& handle, const std::vector<std::string>& texts) {
  Call call({});
  Program program = clone(*handle.program);
  const std::vector<Tap> taps = call.run([&]() -> Result<std::vector<Tap>> {
    std::vector<TapRule> rules;
    for (const std::string& text : texts) {
      DEPUTE_TRY(TapRule rule, parse_tap_rule(text));
      rules.push_back(std::move(rule));
    }
    return add_taps(program, rules);
  });
  nb::list specs;
  for (const Tap& each : taps) {
    nb::dict spec;
    spec["node_name"] = std::string(each.value.str());
    spec["op_target"] = std::string(each.op.str());
    spec["output_index"] = each.output;
    spec["fields"] = nb::tuple(nb::cast(each.numbers));
    spec["module_path"] = std::string(each.module_path.str());
    spec["source"] = each.source;
    spec["method_name"] = std::string(each.method.str());
    specs.append(spec);
  }
  return nb::make_tuple(hold(std::move(program)), specs);
}

// Makes inputs and outputs integers. Returns the program, the values of the methods that tell their scales, and the
// names of the values: {"input0": "x"}. `prefix`: of the methods' names; None: the name of the tensor's method.
nb::tuple integer_io(const ProgramHandle& handle, const std::vector<std::string>& texts,
                     const std::optional<std::string>& prefix) {
  Call call({});
  Program program = clone(*handle.program);
  const std::vector<IntegerTensor> tensors = call.run([&]() -> Result<std::vector<IntegerTensor>> {
    std::vector<IntegerIoRule> rules;
    for (const std::string& text : texts) {
      DEPUTE_TRY(IntegerIoRule rule, parse_integer_io_rule(text));
      rules.push_back(std::move(rule));
    }
    return make_integer_io(program, rules);
  });
  nb::dict methods, names;
  for (const IntegerTensor& tensor : tensors) {
    const std::string port = (tensor.is_input ? "input" : "output") + std::to_string(tensor.index);
    names[port.c_str()] = std::string(tensor.value.str());
    for (const ConstantMethod& method :
         config_methods(tensor, prefix.value_or(std::string(tensor.method.str()) + "_"))) {
      const auto* number = std::get_if<double>(&method.values[0]);
      methods[method.name.c_str()] =
          number != nullptr ? nb::cast(*number) : nb::cast(std::get<std::int64_t>(method.values[0]));
    }
  }
  return nb::make_tuple(hold(std::move(program)), methods, names);
}

// Accepts a program that is in the Edge dialect already.
Edge edge_of(const ProgramHandle& handle) {
  Call call({});
  return call.run([&] { return call.compiler().edge(clone(*handle.program)); });
}

template <typename From>
Delegated to_backend(const From& stage, const std::vector<Request>& requests, const Backends& backends,
                     int jobs, const nb::object& executor, const nb::object& watch) {
  Call call(backends, executor, watch);
  const LowerOptions options{.backends = call.requests(requests), .jobs = jobs};
  return call.run([&] { return call.compiler().to_backend(stage, options); });
}

// Adds constants as methods and decomposes the undelegated nodes.
Delegated finish(const Delegated& delegated, const std::vector<ConstantMethod>& constants) {
  Call call({});
  return call.run([&]() -> Result<Delegated> {
    DEPUTE_TRY(Delegated lowered, lower_undelegated(delegated));
    return add_constants(std::move(lowered), constants);
  });
}

Executable to_executorch(const Delegated& delegated, const PythonOptions& given) {
  Call call({});
  const WriteOptions options = given.for_call(call.raised());
  return call.run([&] { return depute::to_executorch(delegated, options); });
}

nb::tuple file_rows(const PteFile& file) {
  nb::dict external;
  for (const auto& [path, content] : file.external) external[path.c_str()] = bytes_of(content);
  return nb::make_tuple(bytes_of(file.pte), external, file.summary);
}

nb::tuple write(const Executable& executable, const std::string& name) {
  Call call({});
  return file_rows(call.run([&] { return depute::write(executable, name); }));
}

// Writes a program that is lowered already.
nb::tuple emit(const ProgramHandle& handle, const PythonOptions& given, const std::string& name) {
  Call call({});
  const WriteOptions options = given.for_call(call.raised());
  return file_rows(call.run([&]() -> Result<PteFile> {
    DEPUTE_TRY(Edge edge, call.compiler().edge(clone(*handle.program)));
    DEPUTE_TRY(Delegated delegated, call.compiler().to_backend(std::move(edge), {}));
    DEPUTE_TRY(const Executable executable, depute::to_executorch(std::move(delegated), options));
    return depute::write(executable, name);
  }));
}

Report noted(Report report, const Notes& notes) {
  report.input = notes.input;
  report.times = notes.times;
  if (notes.advice) {
    report.page->advice = notes.advice;
    report.page->is_advice_left_out = notes.is_advice_left_out;
  }
  return report;
}

// Reports everything that would be rejected if the program was written now.
template <typename From>
Report explained(const From& stage, const Notes& notes) {
  Call call({});
  return call.run([&]() -> Result<Report> {
    DEPUTE_TRY(Delegated delegated, call.compiler().to_backend(stage, {}));
    return noted(explain(std::move(delegated), {}, {.splits = true, .page = true}), notes);
  });
}

// Reports the program with the file that write() gave.
Report written(const Executable& executable, const Notes& notes, const std::string& name, nb::bytes pte,
               const WriteSummary& summary) {
  Call call({});
  const std::span bytes(static_cast<const std::byte*>(pte.data()), pte.size());
  return call.run([&]() -> Result<Report> {
    Report report = make_report(executable, {.splits = true, .page = true});
    add_output(report, executable, {.name = name, .summary = summary}, bytes, call.compiler().registry());
    return noted(std::move(report), notes);
  });
}

// .ptd files: paths, and patterns of data names.
using DataFiles = std::vector<std::pair<std::string, std::string>>;
using Banks = std::vector<std::tuple<std::string, std::uint64_t, std::uint32_t, std::uint64_t>>;
using MemoryPins = std::vector<std::pair<std::string, std::string>>;  // bank, selector

WriteOptions write_options(int jobs, bool segments, std::uint64_t segment_alignment,
                           std::uint64_t delegate_alignment, bool alloc_inputs, bool alloc_outputs,
                           bool alloc_state, bool stack_traces, std::uint64_t constant_alignment,
                           const DataFiles& files, const Banks& banks, const MemoryPins& pins) {
  WriteOptions options = {.jobs = jobs,
                          .ptd = {},
                          .extract_delegate_segments = segments,
                          .segment_alignment = segment_alignment,
                          .delegate_alignment = delegate_alignment,
                          .alloc_inputs = alloc_inputs,
                          .alloc_outputs = alloc_outputs,
                          .stack_traces = stack_traces,
                          .banks = {},
                          .memory_pins = {},
                          .alloc_state = alloc_state,
                          .constant_alignment = constant_alignment};
  for (const auto& [path, pattern] : files) options.ptd.push_back({.path = path, .pattern = pattern});
  for (const auto& [name, size, memory_id, alignment] : banks)
    options.banks.push_back({name, size, memory_id, alignment});
  for (const auto& [bank, selector] : pins) options.memory_pins.push_back({bank, selector});
  const Status checked = check_memory(options);
  if (!checked) raise(checked.error());
  return options;
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
  nb::class_<PythonOptions>(module, "WriteOptions")
      .def(
          "__init__",
          [](PythonOptions* self, int jobs, bool segments, std::uint64_t segment_alignment,
             std::uint64_t delegate_alignment, bool alloc_inputs, bool alloc_outputs, bool alloc_state,
             bool stack_traces, std::uint64_t constant_alignment, const DataFiles& files, const Banks& banks,
             const MemoryPins& pins, const nb::object& planner) {
            new (self) PythonOptions{write_options(jobs, segments, segment_alignment, delegate_alignment,
                                                   alloc_inputs, alloc_outputs, alloc_state, stack_traces,
                                                   constant_alignment, files, banks, pins),
                                     planner.is_none() ? nullptr : share(planner)};
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg(), nb::arg("planner").none());
  nb::class_<ValidationDisabled>(module, "ValidationDisabled").def(nb::init<>());
  module.def("preprocess", &preprocess);
  module.def("lower", &lower, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("executor").none(), nb::arg("watch").none());
  nb::class_<Notes>(module, "Notes")
      .def(nb::init<>())
      .def("__init__", [](Notes* self, const std::string& input) { new (self) Notes{.input = input}; })
      .def("named", [](Notes self, const std::string& input) {
        self.input = input;
        return self;
      });
  nb::class_<Edge>(module, "Edge").def_prop_ro("program", [](const Edge& self) { return hold(self); });
  nb::class_<Delegated>(module, "Delegated")
      .def_prop_ro("program", [](const Delegated& self) { return hold(self); })
      .def_prop_ro("normalized",
                   [](const Delegated& self) { return ProgramHandle{self.shared_normalized()}; });
  nb::class_<Executable>(module, "Executable").def_prop_ro("program", [](const Executable& self) {
    return hold(self);
  });
  nb::class_<WriteSummary>(module, "WriteSummary").def_ro("warnings", &WriteSummary::warnings);
  module.def("to_edge", &to_edge);
  module.def("edge", &edge_of);
  module.def("integer_io", &integer_io, nb::arg(), nb::arg(), nb::arg("prefix").none());
  module.def("tap", &tap);
  module.def("dtype_of_executorch", [](std::int64_t number) {
    const std::optional<ScalarType> type = scalar_type_from_executorch(number);
    return type ? std::optional(std::string(torch_name(*type))) : std::nullopt;
  });
  module.def("to_backend", &to_backend<Edge>, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("executor").none(), nb::arg("watch").none());
  module.def("to_backend", &to_backend<Delegated>, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("executor").none(), nb::arg("watch").none());
  module.def("explained", &explained<Edge>);
  module.def("explained", &explained<Delegated>);
  module.def("to_backend_whole", &whole);
  module.def("finish", &finish);
  module.def("to_executorch", &to_executorch);
  module.def("write", &write);
  module.def("emit", &emit);
  module.def("written", &written);
  module.def("debug_map", [](const Executable& executable) { return debug_map(executable); });
  module.def("command_line", &command_line);
  module.def("backend_argument", &backend_argument);
  module.def("backends", &backend_rows);
  module.def("disable_validation", &disable_validation);
  module.def("is_validation_enabled", &is_validation_enabled);
  module.def("version", &version);
}

}  // namespace depute::python
