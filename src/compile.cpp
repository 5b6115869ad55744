// The pipeline as one page: read -> normalise -> partition -> lower -> plan -> write.
#include "compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>

#include "lower/backend_op.h"
#include "lower/to_backend.h"
#include "normalise/normalise.h"
#include "normalise/passes.h"
#include "ops/verify_input.h"
#include "partition/filtered_partitioner.h"
#include "partition/plan_together.h"
#include "plan/plan.h"
#include "read/read_program.h"
#include "report/debug_map.h"
#include "support/guarded.h"
#include "support/output_set.h"
#include "write/write_pte.h"

namespace depute {
namespace {

// Adds the time since the last call to the report, under the step's name.
class StepTimer {
 public:
  explicit StepTimer(std::vector<StepTime>& times) : times_(times) {}
  void done(std::string_view step) {
    auto now = std::chrono::steady_clock::now();
    times_.push_back({std::string(step), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }

 private:
  std::vector<StepTime>& times_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// A backend asked for, with the partitioner made from its options.
struct RequestedBackend {
  const BackendEntry* entry;
  std::unique_ptr<Partitioner> partitioner;
};

std::string backend_names(const Registry& registry) {
  std::string names;
  for (const BackendEntry& entry : registry.entries()) names += (names.empty() ? "" : ", ") + entry.name;
  return names;
}

Result<std::vector<RequestedBackend>> find_backends(const std::vector<BackendRequest>& requests,
                                                    const Registry& registry) {
  std::vector<RequestedBackend> backends;
  for (const BackendRequest& request : requests) {
    const BackendEntry* entry = registry.find(request.name);
    if (entry == nullptr) {
      return error("usage", "--backend", fmt::format("there is no backend '{}'", request.name),
                   fmt::format("built in: {}", backend_names(registry)));
    }
    BackendOptions own = request.options;
    TRY(PartitionControls controls, take_partition_controls(entry->name, own));
    TRY(std::unique_ptr<Partitioner> partitioner, make_partitioner(*entry, own));
    backends.push_back({entry, filtered(std::move(partitioner), std::move(controls))});
  }
  return backends;
}

// A program in text form may leave out the bytes of large constants: it can be read and compared, not
// compiled.
Status check_data(const Program& program) {
  for (const auto& [key, data] : program.data) {
    if (data.storage->is_elided()) {
      return error("read", fmt::format("data \"{}\"", key.str()), "this text leaves out the constant's bytes",
                   "print the program with `depute show --data`");
    }
  }
  return {};
}

// Here, and nowhere else on the way, a program is verified.
Result<Program> read_verified(const std::string& path) {
  TRY(Program program, read_program(path));
  TRY_STATUS(verify_input(program));
  return program;
}

Result<Program> read_inputs(const CompileOptions& options) {
  if (options.input.empty() && options.methods.empty())
    return error("usage", "", "there is no program to compile");
  Program program;
  if (!options.input.empty()) {
    TRY(program, read_verified(options.input));
  }
  for (const auto& [name, file] : options.methods) {
    TRY(Program method, read_verified(file));
    TRY_STATUS(join_method(program, std::move(method), Symbol(name)));
  }
  TRY_STATUS(check_data(program));
  return program;
}

Result<Program> normalise_for(Program program, const std::vector<RequestedBackend>& backends,
                              const CompileOptions& options) {
  NormaliseOptions normalise_options;
  for (const RequestedBackend& backend : backends) {
    normalise_options.ops_to_not_decompose.push_back(backend.partitioner->ops_to_not_decompose(program));
  }
  normalise_options.verify = options.verify_each_pass;
  normalise_options.verified = true;
  normalise_options.observe = options.observe;
  return normalise(std::move(program), normalise_options);
}

// Puts the backends' own ops where their patterns are.
Status bind_ops(Program& program, const std::vector<RequestedBackend>& backends) {
  std::vector<Symbol> names;
  for (const RequestedBackend& backend : backends) {
    for (const BackendOpSpec& op : backend.entry->ops) names.emplace_back(op.name);
  }
  if (names.empty()) return {};
  TRY_STATUS(bind_backend_ops(program, names));
  return {};
}

Result<Program> lower_to_backends(Program program, std::vector<RequestedBackend> backends,
                                  const Registry& registry, const CompileOptions& options, Report& report) {
  ToBackendOptions lowering{.jobs = options.jobs,
                            .check_determinism = options.verify_each_pass,
                            .verified = true,
                            .tell_why_apart = options.output.empty() || !options.reports.empty()};
  if (options.plan_together && backends.size() > 1) {
    std::vector<std::unique_ptr<Partitioner>> partitioners;
    for (RequestedBackend& backend : backends) partitioners.push_back(std::move(backend.partitioner));
    SeveralPartitioners all(std::move(partitioners));
    TRY(Lowered lowered, to_backend(std::move(program), all, registry, lowering));
    add_verdicts(report, "all backends", lowered.verdicts);
    add_apart(report, std::move(lowered.apart));
    program = std::move(lowered.program);
  } else {
    for (const RequestedBackend& backend : backends) {
      TRY(Lowered lowered, to_backend(std::move(program), *backend.partitioner, registry, lowering));
      add_verdicts(report, backend.entry->name, lowered.verdicts);
      add_apart(report, std::move(lowered.apart));
      program = std::move(lowered.program);
    }
  }
  // What no backend took: its ops where they have no kernel, and what was kept whole for one.
  TRY_STATUS(expand_backend_ops(program, BackendOpsToExpand::WithoutKernel));
  add_delegates(report, program);
  return normalise_leftovers(
      std::move(program), {.verify = options.verify_each_pass, .verified = true, .observe = options.observe});
}

PlanOptions plan_options(const CompileOptions& options) {
  return {.external_constants = !options.ptd.empty(), .verified = true};
}

// What would be refused if the program was to be written.
void find_refusals(const CompileOptions& options, Compiled& compiled) {
  std::vector<Refusal> refusals;
  std::ignore = make_plan(compiled.program, plan_options(options), refusals);
  add_refusals(compiled.report, compiled.program, refusals);
}

Status check_files(const CompileOptions& options, OutputSet& outputs) {
  std::vector<std::string> inputs;
  if (!options.input.empty()) inputs.push_back(options.input);
  for (const auto& [name, file] : options.methods) inputs.push_back(file);
  if (std::ranges::count(inputs, "-") > 1) {
    return error("usage", "-", "standard input can be read only once");
  }
  for (const std::string& input : inputs) outputs.add_input(input);
  if (!options.output.empty()) TRY_STATUS(outputs.reserve("-o", options.output));
  if (!options.ptd.empty()) TRY_STATUS(outputs.reserve("--ptd", options.ptd));
  for (const std::string& report : options.reports) TRY_STATUS(outputs.reserve("--report", report));
  if (!options.debug_map.empty()) TRY_STATUS(outputs.reserve("--debug-map", options.debug_map));
  return {};
}

// Constants of a program in the text form may lie in further files.
Status check_data_files(const Program& program, OutputSet& outputs) {
  std::set<std::string> files;
  for (const auto& [key, data] : program.data) {
    const MappedFile* file = data.storage->file();
    if (file != nullptr && files.insert(file->path()).second)
      TRY_STATUS(outputs.add_late_input(file->path()));
  }
  return {};
}

Status write_text(OutputSet& outputs, const std::string& path, const std::string& text) {
  TRY(std::unique_ptr<Output> output, outputs.open(path));
  TRY_STATUS(output->write(std::as_bytes(std::span(text))));
  return output->commit();
}

// Named data with a tag have a file beside the output, which needs a name for that.
Result<std::unique_ptr<Output>> open_output(const CompileOptions& options, OutputSet& outputs,
                                            const std::string& path) {
  bool has_tag = path != options.output && path != options.ptd;
  if (has_tag && options.ptd.empty() && is_standard_output(options.output)) {
    return error("write", path, "the program has tagged data, which lie in a file beside it",
                 "give -o a file name");
  }
  return outputs.open(path);
}

Status plan_and_write(const CompileOptions& options, StepTimer& timer, OutputSet& outputs,
                      Compiled& compiled) {
  const Program& program = compiled.program;
  Report& report = compiled.report;
  TRY(Plan plan, make_plan(program, plan_options(options)));
  timer.done("plan");
  WriteOptions write_options = options.write;
  write_options.jobs = options.jobs;
  write_options.ptd = options.ptd;
  write_options.verified = true;
  auto open = [&](const std::string& path) { return open_output(options, outputs, path); };
  TRY(WriteSummary written, write_pte_to(open, program, plan, options.output, write_options));
  if (!options.debug_map.empty()) {
    TRY_STATUS(write_text(outputs, options.debug_map, debug_map_json(program, plan, options.output)));
  }
  timer.done("write");
  report.output = options.output;
  report.output_bytes = written.file_bytes;
  for (const WrittenFile& file : written.external_files) {
    report.external_files.push_back({file.path, file.bytes});
  }
  report.notes = std::move(written.warnings);
  for (const std::string& module : plan.kernel_modules) {
    report.notes.push_back(fmt::format("the program needs kernels of the Python module {}", module));
  }
  return {};
}

Status write_reports(const CompileOptions& options, const Report& report, OutputSet& outputs) {
  for (const std::string& path : options.reports) {
    bool is_html = path.ends_with(".html");
    TRY_STATUS(write_text(outputs, path, is_html ? report_html(report) : report_json(report)));
  }
  return {};
}

Result<Compiled> run_steps(const CompileOptions& options, const Registry& registry) {
  TRY(std::vector<RequestedBackend> backends, find_backends(options.backends, registry));
  OutputSet outputs;
  TRY_STATUS(check_files(options, outputs));
  std::vector<StepTime> times;
  StepTimer timer(times);
  auto observe = [&](std::string_view step, const Program& program) {
    timer.done(step);
    if (options.observe) options.observe(step, program);
  };

  TRY(Program program, read_inputs(options));
  TRY_STATUS(check_data_files(program, outputs));
  observe("read", program);
  TRY(program, normalise_for(std::move(program), backends, options));
  TRY_STATUS(bind_ops(program, backends));
  observe("normalise", program);
  Report report = make_report(program);
  report.input = options.input.empty() ? options.methods[0].second : options.input;
  TRY(program, lower_to_backends(std::move(program), std::move(backends), registry, options, report));
  for (const ConstantMethod& constant : options.constants) TRY_STATUS(add_constant_method(program, constant));
  observe("lower", program);

  Compiled compiled{.program = std::move(program), .report = std::move(report), .unmet = {}};
  compiled.unmet = unmet(compiled.report, options.requirements);
  const bool is_met = compiled.unmet.empty();
  if (options.output.empty()) {
    find_refusals(options, compiled);
    timer.done("plan");
  } else if (is_met) {
    TRY_STATUS(plan_and_write(options, timer, outputs, compiled));
  }
  compiled.report.times = std::move(times);
  if (!is_met) return compiled;
  TRY_STATUS(write_reports(options, compiled.report, outputs));
  TRY_STATUS(outputs.put_in_place());
  return compiled;
}

}  // namespace

std::string version() {
  return "depute 0.1.0";
}

Result<Compiled> compile(const CompileOptions& options, const Registry& registry) {
  return guarded([&] { return run_steps(options, registry); });
}

std::vector<std::string_view> step_names() {
  std::vector<std::string_view> names = {"read"};
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  names.push_back("normalise");
  for (const Pass& pass : leftover_passes()) names.push_back(pass.name);
  names.push_back("lower");
  return names;
}

}  // namespace depute
