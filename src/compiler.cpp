// Runs the pipeline: read -> normalize -> partition -> lower -> plan -> write. compile() also handles files,
// lock files, requirements and reports; the steps themselves are in the other folders.
#include "depute/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <tuple>
#include <unordered_map>

#include "advice.h"
#include "depute/backend_op.h"
#include "depute/filtered_partitioner.h"
#include "depute/lock.h"
#include "depute/normalize.h"
#include "depute/plan_together.h"
#include "depute/to_backend.h"
#include "depute/verify_input.h"
#include "depute/version.h"
#include "ir/narrow_ranges.h"
#include "ir/verify.h"
#include "lower/guarded_backend.h"
#include "normalize/passes.h"
#include "option_text.h"
#include "plan/data_file.h"
#include "plan/plan.h"
#include "read/read_program.h"
#include "read/read_pt2.h"
#include "report/debug_map.h"
#include "report/page_facts.h"
#include "report/planned_facts.h"
#include "report/refusals_report.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/suggest.h"
#include "support/try.h"
#include "write/write_pte.h"

namespace depute {
namespace {

// Appends the time since the last call to the report, under the name of the step.
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

// A requested backend, with the partitioner made from its options.
struct RequestedBackend {
  std::string name;           // name in the report
  const BackendEntry* entry;  // null for the caller's own partitioner
  std::shared_ptr<const Partitioner> partitioner;
  std::string method;  // the only method this backend gets; empty: all methods

  bool is_for(const Method& each) const { return method.empty() || each.name == method; }
};

std::string unknown_backend_hint(const BackendRequest& request, const Registry& registry) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : registry.entries()) names.push_back(entry.name);
  const std::string meant = did_you_mean(request.name, names);
  return fmt::format("{}{}built in: {}{}{}", meant, meant.empty() ? "" : " ", fmt::join(names, ", "),
                     request.sought.empty() ? "" : "; there is no ", request.sought);
}

Result<std::vector<RequestedBackend>> find_backends(const std::vector<BackendRequest>& requests,
                                                    const Registry& registry) {
  std::vector<RequestedBackend> backends;
  for (const BackendRequest& request : requests) {
    if (request.partitioner != nullptr) {
      backends.push_back(
          {request.name, nullptr, guarded_partitioner(request.name, request.partitioner), request.method});
      continue;
    }
    const BackendEntry* entry = registry.find(request.name);
    if (entry == nullptr && registry.find(request.method) != nullptr) {
      return failure("usage", "--backend",
                     fmt::format("option '{}' is not of the form key=value", request.name));
    }
    if (entry == nullptr) {
      return failure("usage", "--backend", fmt::format("there is no backend '{}'", request.name),
                     unknown_backend_hint(request, registry));
    }
    BackendOptions own = request.options;
    TRY(PartitionControls controls, take_partition_controls(entry->name, own));
    TRY(std::unique_ptr<Partitioner> partitioner, make_partitioner(*entry, own));
    backends.push_back(
        {entry->name, entry, filtered(std::move(partitioner), std::move(controls)), request.method});
  }
  return backends;
}

Status check_methods(const Program& program, const std::vector<RequestedBackend>& backends) {
  for (const RequestedBackend& backend : backends) {
    if (backend.method.empty() || program.find_method(backend.method) != nullptr) continue;
    std::vector<std::string> names;
    for (const auto& method : program.methods) names.emplace_back(method->name.str());
    return failure(
        "usage", "--backend", fmt::format("there is no method '{}'", backend.method),
        did_you_mean(backend.method, names, fmt::format("the methods are {}", fmt::join(names, ", "))));
  }
  return {};
}

// Verifies a program from outside; later steps rely on it.
Result<Program> verified(Program program) {
  TRY_STATUS(verify_input(program));
  TRY_STATUS(check_data_is_there(program, "read"));
  return program;
}

Result<Program> read_verified(std::shared_ptr<const MappedFile> file, const Registry& registry) {
  TRY(Program program, read_program(std::move(file), registry.ops()));
  return verified(std::move(program));
}

Result<Program> read_verified(const ExportedModel& model, const std::string& name, const Registry& registry) {
  TRY(Program program, read_model(model, name, {.ops = registry.ops()}));
  return verified(std::move(program));
}

Result<Program> read_verified(const std::string& path, const Registry& registry) {
  TRY(std::shared_ptr<const MappedFile> file, open_input(path));
  return read_verified(std::move(file), registry);
}

Result<Program> read_inputs(const CompileOptions& options, const Registry& registry) {
  if (options.input.empty() && options.methods.empty())
    return failure("usage", "", "there is no program to compile");
  Program program(registry.ops());
  if (!options.input.empty()) {
    TRY(program, read_verified(options.input, registry));
  }
  for (const auto& [name, file] : options.methods) {
    TRY(Program method, read_verified(file, registry));
    TRY_STATUS(join_method(program, std::move(method), Name(name)));
  }
  return program;
}

Result<Program> normalize_for(Program program, const std::vector<RequestedBackend>& backends,
                              const LowerOptions& options) {
  NormalizeOptions normalize_options;
  for (const RequestedBackend& backend : backends) {
    normalize_options.ops_to_not_decompose.push_back(backend.partitioner->ops_to_not_decompose(program));
  }
  normalize_options.edge_forms = options.edge_forms;
  normalize_options.verify = options.verify_each_pass;
  normalize_options.verified = true;
  normalize_options.observe = options.observe;
  return normalize(std::move(program), normalize_options);
}

// Puts the backends' own ops where their patterns are.
Status bind_ops(Program& program, const std::vector<RequestedBackend>& backends, const Registry& registry) {
  std::vector<Name> names;
  for (const RequestedBackend& backend : backends) {
    if (backend.entry == nullptr) continue;
    for (const BackendOpSpec& op : backend.entry->ops) names.emplace_back(op.name);
  }
  if (names.empty()) return {};
  TRY_STATUS(bind_backend_ops(program, registry.ops(), names));
  return {};
}

// Applies the caller's transforms. Each result comes from outside, so it is verified and normalized again.
Result<Program> transformed(Program program, const std::vector<RequestedBackend>& backends,
                            const LowerOptions& options) {
  for (std::size_t i = 0; i < options.transforms.size(); ++i) {
    const auto place = [&] { return failure("callback", fmt::format("transforms[{}]", i), {}); };
    TRY(program, call_foreign(place, [&] { return options.transforms[i](std::move(program)); }));
    TRY_STATUS(verify_input(program));
    TRY_STATUS(check_data_is_there(program, "read"));
    TRY(program, normalize_for(std::move(program), backends, options));
  }
  return program;
}

// The backends that are asked at once, by method, and what the report calls each of them.
struct Round {
  MethodPartitioners partitioners = {};
  std::unordered_map<Name, std::string> asked = {};
  std::vector<std::unique_ptr<const Partitioner>> owned = {};
};

Round round_of_all(const Program& program, const std::vector<RequestedBackend>& backends) {
  Round round;
  for (const auto& method : program.methods) {
    std::vector<std::shared_ptr<const Partitioner>> partitioners;
    for (const RequestedBackend& backend : backends) {
      if (backend.is_for(*method)) partitioners.push_back(backend.partitioner);
    }
    if (partitioners.empty()) continue;
    round.owned.push_back(std::make_unique<SeveralPartitioners>(std::move(partitioners)));
    round.partitioners.emplace(method->name.str(), round.owned.back().get());
    round.asked.emplace(method->name, "all backends");
  }
  return round;
}

// One after another, but in one round what methods of their own are asked for: a backend that wants all
// partitions together is given those of all methods.
std::vector<Round> rounds_of(const Program& program, const std::vector<RequestedBackend>& backends) {
  std::vector<Round> rounds;
  for (const RequestedBackend& backend : backends) {
    const auto is_asked_already = [&](const auto& method) {
      return backend.is_for(*method) && rounds.back().asked.contains(method->name);
    };
    if (rounds.empty() || std::ranges::any_of(program.methods, is_asked_already)) rounds.emplace_back();
    for (const auto& method : program.methods) {
      if (!backend.is_for(*method)) continue;
      rounds.back().partitioners.emplace(method->name.str(), backend.partitioner.get());
      rounds.back().asked.emplace(method->name, backend.name);
    }
  }
  return rounds;
}

// Adds verdicts, which come method by method.
void tell_verdicts(Report& report, const std::unordered_map<Name, std::string>& asked,
                   std::span<const NodeVerdict> verdicts) {
  while (!verdicts.empty()) {
    const std::string& backend = asked.at(verdicts.front().method);
    const auto other = std::ranges::find_if(
        verdicts, [&](const NodeVerdict& verdict) { return asked.at(verdict.method) != backend; });
    const auto count = static_cast<std::size_t>(other - verdicts.begin());
    add_verdicts(report, backend, verdicts.first(count));
    verdicts = verdicts.subspan(count);
  }
}

// Partitions and lowers the program for all backends; undelegated nodes stay unchanged.
Result<Program> hand_over(Program program, const std::vector<RequestedBackend>& backends,
                          const Registry& registry, const LowerOptions& options, bool without_payloads,
                          Report& report) {
  const ToBackendOptions lowering{.jobs = options.jobs,
                                  .check_determinism = options.verify_each_pass,
                                  .verified = true,
                                  .tell_why_apart = options.tell_why_apart,
                                  .cache = options.cache,
                                  .without_payloads = without_payloads};
  std::vector<Round> rounds;
  if (options.plan_together && backends.size() > 1) {
    rounds.push_back(round_of_all(program, backends));
  } else {
    rounds = rounds_of(program, backends);
  }
  for (const Round& round : rounds) {
    TRY(Lowered lowered, to_backend(program, round.partitioners, registry, lowering));
    tell_verdicts(report, round.asked, lowered.verdicts);
    add_apart(report, std::move(lowered.apart));
    add_cache_use(report, std::move(lowered.cache));
    program = std::move(lowered.program);
  }
  return program;
}

// Brings the program to the form that partitioners get.
Result<Program> normalize_and_bind(Program program, const std::vector<RequestedBackend>& backends,
                                   const Registry& registry, const LowerOptions& options) {
  TRY(program, normalize_for(std::move(program), backends, options));
  TRY(program, transformed(std::move(program), backends, options));
  TRY_STATUS(bind_ops(program, backends, registry));
  return program;
}

// Partitions the program with these options and counts delegated nodes. Runs all steps except preprocess().
Result<PageCounts> plan_again(const Program& program, const Registry& registry, LowerOptions options,
                              std::span<const RefusedNodes> take, bool with_memory) {
  options.verify_each_pass = options.tell_why_apart = false;
  options.observe = nullptr;
  options.cache = {};
  TRY(std::vector<RequestedBackend> backends, find_backends(options.backends, registry));
  for (RequestedBackend& backend : backends) {
    if (!take.empty() && backend.name == take[0].backend)
      backend.partitioner = taking(backend.partitioner, {take.begin(), take.end()});
  }
  Program again = clone(program);
  TRY_STATUS(narrow_ranges(again, options.bounds));
  TRY(again, normalize_and_bind(std::move(again), backends, registry, options));
  Report report = make_report(again);
  TRY(again, hand_over(std::move(again), backends, registry, options, true, report));
  add_delegates(report, again);
  PageCounts counts = counts_of(report);
  if (!with_memory) return counts;
  TRY(again, lower_undelegated(std::move(again), options));
  std::vector<Refusal> refusals;
  const Result<Plan> plan = make_plan(again, {.verified = true}, refusals);
  if (plan && refusals.empty()) counts.memory = planned_facts(*plan).memory;
  return counts;
}

void add_advice(Report& report, const Program& program, const Registry& registry,
                const LowerOptions& options) {
  report.page->advice.emplace();
  report.page->is_advice_left_out = report.nodes.size() > max_advised_nodes;
  if (report.page->is_advice_left_out) return;
  report.page->advice =
      advise(report, options, program.ranges, registry,
             [&](const LowerOptions& changed, std::span<const RefusedNodes> take, bool memory) {
               return plan_again(program, registry, changed, take, memory);
             });
}

// Runs all steps from a verified program to one that can be planned.
Result<Compiled> run_lower(Program program, const std::vector<RequestedBackend>& backends,
                           const Registry& registry, LowerOptions options, StepTimer& timer) {
  options.verified = true;
  TRY_STATUS(check_methods(program, backends));
  TRY_STATUS(narrow_ranges(program, options.bounds));
  CalibrationProgress calibrated;
  if (options.progress)
    calibrated = [&](auto done, auto samples) { options.progress("calibrate", done, samples); };
  TRY(QuantizeResult quantized,
      quantize(program, options.quantize, options.jobs, options.calibrations, calibrated));
  std::optional<Program> before;  // partitioned again for the advice on the page
  if (options.tell_advice) before = clone(program);
  TRY(program, normalize_and_bind(std::move(program), backends, registry, options));
  timer.done("normalize");
  TRY_STATUS(tell_step(options.observe, "normalize", program));
  Report report = make_report(program);
  report.quantized = std::move(quantized);
  if (options.tell_page_facts || options.tell_advice) add_page_facts(report, program);
  TRY(program, hand_over(std::move(program), backends, registry, options, false, report));
  TRY(program, lower_undelegated(std::move(program), options));
  add_delegates(report, program);
  for (const ConstantMethod& constant : options.constants) TRY_STATUS(add_constant_method(program, constant));
  timer.done("lower");
  TRY_STATUS(tell_step(options.observe, "lower", program));
  if (before) {
    add_advice(report, *before, registry, options);
    timer.done("advise");
  }
  return Compiled{.program = std::move(program), .report = std::move(report)};
}

PlanOptions plan_options(const WriteOptions& write) {
  return {.alloc_inputs = write.alloc_inputs,
          .alloc_outputs = write.alloc_outputs,
          .external = write.ptd,
          .verified = write.verified};
}

// Write options for a program that compile() lowered.
WriteOptions write_options(const CompileOptions& options) {
  WriteOptions write = options.write;
  write.jobs = options.lower.jobs;
  write.ptd = options.ptd;
  write.verified = true;
  return write;
}

// Plans the program and adds to the report everything that emit() would reject.
void find_refusals(const Program& program, const WriteOptions& write, Report& report) {
  std::vector<Refusal> refusals;
  const Result<Plan> plan = make_plan(program, plan_options(write), refusals);
  add_refusals(report, program, refusals);
  if (!plan) return;
  report.planned = planned_facts(*plan);
  if (report.page != nullptr) add_memory(*report.page, report, program, *plan);
}

// Paths of .ptd files, each once: several patterns may share a file.
std::set<std::string> ptd_paths(const CompileOptions& options) {
  std::set<std::string> paths;
  for (const DataFile& file : options.ptd) paths.insert(file.path);
  return paths;
}

Status check_files(const CompileOptions& options, OutputSet& outputs) {
  std::vector<std::string> inputs;
  if (!options.input.empty()) inputs.push_back(options.input);
  for (const auto& [name, file] : options.methods) inputs.push_back(file);
  for (const auto& [method, file] : options.calibrate) inputs.push_back(file);
  if (std::ranges::count(inputs, "-") > 1) {
    return failure("usage", "-", "standard input can be read only once");
  }
  if (!options.lock.empty() && !options.update_lock) inputs.push_back(options.lock);
  inputs.insert(inputs.end(), options.read_before.begin(), options.read_before.end());
  for (const std::string& input : inputs) outputs.add_input(input);
  if (!options.output.empty()) TRY_STATUS(outputs.reserve("-o", options.output));
  for (const std::string& path : ptd_paths(options)) TRY_STATUS(outputs.reserve("--ptd", path));
  for (const std::string& report : options.reports) TRY_STATUS(outputs.reserve("--report", report));
  if (!options.debug_map.empty()) TRY_STATUS(outputs.reserve("--debug-map", options.debug_map));
  if (options.update_lock) TRY_STATUS(outputs.reserve("--lock", options.lock));
  return {};
}

// Adds the mapped data files of a program in the text form to the inputs, which no output may overwrite.
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

// Opens an output. Tagged named data go to a file beside the output, so the output needs a file name.
Result<std::unique_ptr<Output>> open_output(const CompileOptions& options, OutputSet& outputs,
                                            const std::string& path) {
  bool has_tag = path != options.output && !ptd_paths(options).contains(path);
  if (has_tag && file_of_rest(options.ptd) == nullptr && is_standard_output(options.output)) {
    return failure("write", path, "the program has tagged data, which lie in a file beside it",
                   "give -o a file name");
  }
  return outputs.open(path);
}

// Adds the memory plan and the byte ledger of the output to the page.
void draw_output(Report& report, const Program& program, const Plan& plan, std::span<const std::byte> pte,
                 const Registry& registry) {
  add_memory(*report.page, report, program, plan);
  Result<ByteLedger> ledger = byte_ledger(pte, report.output, registry);
  if (ledger) {
    add_ledger(*report.page, std::move(*ledger));
  } else {
    report.notes.push_back("the page does not tell where bytes are: " + ledger.error().str());
  }
}

void tell_output(Report& report, const std::string& name, const WriteSummary& written, const Plan& plan) {
  report.output = name;
  report.output_bytes = written.file_bytes;
  for (const WrittenFile& file : written.external_files) {
    report.external_files.push_back({file.path, file.bytes});
  }
  for (const std::string& warning : written.warnings) report.notes.push_back(warning);
  for (const std::string& module : plan.kernel_modules) {
    report.notes.push_back(fmt::format("the program needs kernels of the Python module {}", module));
  }
  for (const std::string& kernel : plan.own_kernels) {
    report.notes.push_back(fmt::format("the program needs {}, which the application registers", kernel));
  }
}

Status write_planned(const CompileOptions& options, const Registry& registry, const Plan& plan,
                     StepTimer& timer, OutputSet& outputs, Compiled& compiled) {
  const Program& program = compiled.program;
  Report& report = compiled.report;
  const WriteOptions write = write_options(options);
  auto open = [&](const std::string& path) { return open_output(options, outputs, path); };
  TRY(WriteSummary written, write_pte_to(open, program, plan, options.output, write));
  if (!options.debug_map.empty()) {
    TRY_STATUS(write_text(outputs, options.debug_map, debug_map_json(program, plan, options.output)));
  }
  timer.done("write");
  tell_output(report, options.output, written, plan);
  if (report.page == nullptr) return {};
  TRY(std::shared_ptr<const MappedFile> file, outputs.written(options.output));
  draw_output(report, program, plan, file->bytes(), registry);
  return {};
}

// JSON if the path has no known extension (standard output, for instance).
const ReportFormat& format_of(const std::string& report) {
  const ReportFormat* format = report_format(report);
  return format != nullptr ? *format : report_formats().front();
}

Status write_reports(const CompileOptions& options, const Report& report, OutputSet& outputs) {
  for (const std::string& path : options.reports) {
    TRY_STATUS(write_text(outputs, path, format_of(path).write(report)));
  }
  return {};
}

// Compares the lowered program with the lock file, or writes the lock file.
Status check_lock(const CompileOptions& options, const std::optional<Lock>& before, const Registry& registry,
                  StepTimer& timer, OutputSet& outputs, Compiled& compiled) {
  if (options.lock.empty()) return {};
  const Lock now = make_lock(compiled.program, registry, version(), deciding_options(options.lower));
  if (before) {
    compiled.report.lock_changes = lock_changes(*before, now);
  } else {
    TRY_STATUS(write_text(outputs, options.lock, lock_text(now)));
  }
  timer.done("lock");
  return {};
}

// Discards everything written so far.
void forget_written(OutputSet& outputs, Report& report) {
  outputs.drop_written();
  report.output.clear();
  report.output_bytes = 0;
  report.external_files.clear();
}

// Plans the program and writes it if it meets the requirements. Requirements on the file size are checked
// after writing.
Status write_required(const CompileOptions& options, const Registry& registry, StepTimer& timer,
                      OutputSet& outputs, Compiled& compiled) {
  Report& report = compiled.report;
  std::vector<Refusal> refusals;
  Result<Plan> plan = make_plan(compiled.program, plan_options(write_options(options)), refusals);
  timer.done("plan");
  if (plan) report.planned = planned_facts(*plan);
  report.unmet = unmet(report, options.requirements, false);
  const bool is_held = report.unmet.empty() && report.lock_changes.empty();
  if (!plan && is_held) return Failure(plan.error());
  add_refusals(report, compiled.program, refusals);
  if (!plan || (!is_held && std::ranges::none_of(options.requirements, needs_file))) {
    outputs.drop_written();
    return {};
  }
  TRY_STATUS(write_planned(options, registry, *plan, timer, outputs, compiled));
  report.unmet = unmet(report, options.requirements);
  if (!report.unmet.empty() || !report.lock_changes.empty()) forget_written(outputs, report);
  return {};
}

// Plans the program, checks the requirements and writes the output, if there is one.
Status finish(const CompileOptions& options, const Registry& registry, StepTimer& timer, OutputSet& outputs,
              Compiled& compiled) {
  if (!options.output.empty()) return write_required(options, registry, timer, outputs, compiled);
  find_refusals(compiled.program, write_options(options), compiled.report);
  timer.done("plan");
  compiled.report.unmet = unmet(compiled.report, options.requirements, false);
  return {};
}

Result<std::optional<Lock>> read_lock(const CompileOptions& options) {
  if (options.lock.empty() || options.update_lock) return std::optional<Lock>();
  Result<std::shared_ptr<const MappedFile>> file = open_input(options.lock);
  if (!file) {
    file.error().hint = "--lock-update writes it";
    return Failure(file.error());
  }
  const std::span<const std::byte> bytes = (*file)->bytes();
  TRY(Lock lock, parse_lock({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options.lock));
  return std::optional(std::move(lock));
}

// Equivalent command: "depute lower model.pt2 --backend xnnpack". Contains inputs and all options that affect
// the program, but no output names.
std::string command_text(const CompileOptions& options) {
  std::string text = "depute lower";
  if (!options.input.empty()) text += " " + options.input;
  for (const auto& [name, file] : options.methods) text += fmt::format(" --method {}={}", name, file);
  for (const std::string& option : deciding_options(options.lower)) text += " " + option;
  return text;
}

// Day of SOURCE_DATE_EPOCH, which reproducible builds set. The current date would make each page different.
std::string source_date() {
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  if (epoch == nullptr || *epoch == '\0') return {};
  char* end = nullptr;
  const long long seconds = std::strtoll(epoch, &end, 10);
  constexpr long long last = 253'402'300'799;  // end of the year 9999
  if (*end != '\0' || seconds < 0 || seconds > last) return {};
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(seconds))));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

Result<Compiled> run_compile(const CompileOptions& options, const Registry& registry) {
  TRY(std::vector<RequestedBackend> backends, find_backends(options.lower.backends, registry));
  std::vector<std::string> asked;
  for (const RequestedBackend& backend : backends) asked.push_back(backend.name);
  TRY_STATUS(check_requirements(options.requirements, asked));
  OutputSet outputs;
  TRY_STATUS(check_files(options, outputs));
  TRY(const std::optional<Lock> lock, read_lock(options));
  std::vector<StepTime> times;
  StepTimer timer(times);
  LowerOptions lower = options.lower;
  lower.tell_why_apart |= options.output.empty() || !options.reports.empty();
  const bool has_page = std::ranges::any_of(
      options.reports, [](const std::string& report) { return format_of(report).has_page_facts; });
  lower.tell_page_facts |= has_page;
  lower.tell_advice |= has_page;
  TRY(Program program, read_inputs(options, registry));
  if (!options.calibrate.empty()) lower.calibrations.clear();
  for (const auto& [method, file] : options.calibrate) {
    TRY(NamedArrays arrays, read_npz(file));
    lower.calibrations.push_back({.method = method, .name = file, .arrays = std::move(arrays)});
  }
  TRY_STATUS(check_data_files(program, outputs));
  timer.done("read");
  TRY_STATUS(tell_step(lower.observe, "read", program));
  TRY(Compiled compiled, run_lower(std::move(program), backends, registry, lower, timer));
  compiled.report.input = options.input.empty() ? options.methods[0].second : options.input;
  compiled.report.command = command_text(options);
  compiled.report.version = version();
  compiled.report.date = source_date();
  TRY_STATUS(check_lock(options, lock, registry, timer, outputs, compiled));
  TRY_STATUS(finish(options, registry, timer, outputs, compiled));
  compiled.report.times = std::move(times);
  TRY_STATUS(write_reports(options, compiled.report, outputs));
  TRY_STATUS(outputs.put_in_place());
  return compiled;
}

// Copies of a report share a page; this makes the page the report's own before it is changed.
void own_page(Report& report) {
  if (report.page != nullptr) report.page = std::make_shared<PageFacts>(*report.page);
}

}  // namespace

Result<Program> Compiler::load(const std::string& path) const {
  return guarded([&] { return read_verified(path, registry_); });
}

Result<Program> Compiler::load(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               const std::string& name) const {
  return guarded(
      [&] { return read_verified(MappedFile::in_memory(bytes, std::move(owner), name), registry_); });
}

Result<Program> Compiler::load(const ExportedModel& model, const std::string& name) const {
  return guarded([&] { return read_verified(model, name, registry_); });
}
Result<Program> Compiler::load(std::vector<std::byte> bytes, const std::string& name) const {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return load(*owner, owner, name);
}

Result<Program> Compiler::join(std::vector<std::pair<std::string, Program>> methods) const {
  Program program(registry_.ops());
  for (auto& [name, method] : methods) TRY_STATUS(join_method(program, std::move(method), Name(name)));
  return program;
}

Result<std::shared_ptr<const Partitioner>> Compiler::partitioner(const BackendRequest& request) const {
  if (request.partitioner != nullptr) return request.partitioner;
  return guarded([&]() -> Result<std::shared_ptr<const Partitioner>> {
    TRY(std::vector<RequestedBackend> found, find_backends({request}, registry_));
    return found[0].partitioner;
  });
}

namespace {

// Verifies a program that a caller passes in, and binds it to the registry's ops.
Result<Program> checked(Program program, const Registry& registry, const LowerOptions& options) {
  if (program.ops != registry.ops()) use_ops(program, registry.ops());
  if (!options.verified) TRY_STATUS(verify_input(program));
  TRY_STATUS(check_data_is_there(program, "read"));
  return program;
}

}  // namespace

Result<Compiled> Compiler::hand_over(Compiled normalized, const LowerOptions& options) const {
  return guarded([&]() -> Result<Compiled> {
    TRY(std::vector<RequestedBackend> backends, find_backends(options.backends, registry_));
    TRY(Program program, checked(std::move(normalized.program), registry_, options));
    TRY_STATUS(check_methods(program, backends));
    TRY_STATUS(bind_ops(program, backends, registry_));
    Report report = std::move(normalized.report);
    TRY(program, depute::hand_over(std::move(program), backends, registry_, options, false, report));
    return Compiled{.program = std::move(program), .report = std::move(report)};
  });
}

Result<Compiled> Compiler::lower(Program program, const LowerOptions& options) const {
  return guarded([&]() -> Result<Compiled> {
    TRY(std::vector<RequestedBackend> backends, find_backends(options.backends, registry_));
    TRY(program, checked(std::move(program), registry_, options));
    std::vector<StepTime> times;
    StepTimer timer(times);
    TRY(Compiled compiled, run_lower(std::move(program), backends, registry_, options, timer));
    compiled.report.times = std::move(times);
    return compiled;
  });
}

Result<PteBytes> Compiler::emit(const Program& program, const WriteOptions& options,
                                const std::string& name) const {
  return guarded([&]() -> Result<PteBytes> {
    TRY(Plan plan, make_plan(program, plan_options(options)));
    WriteOptions verified = options;
    verified.verified = true;  // verified by make_plan()
    return write_pte_bytes(program, plan, verified, name);
  });
}

Result<Report> Compiler::explain(Report report, const Program& program, const WriteOptions& options) const {
  return guarded([&]() -> Result<Report> {
    own_page(report);
    find_refusals(program, options, report);
    return report;
  });
}

Result<Report> Compiler::explain(Report report, const Program& program, const WriteOptions& options,
                                 const Written& written) const {
  return guarded([&]() -> Result<Report> {
    own_page(report);
    TRY(Plan plan, make_plan(program, plan_options(options)));
    report.planned = planned_facts(plan);
    tell_output(report, written.name, written.summary, plan);
    if (report.page != nullptr) draw_output(report, program, plan, written.pte, registry_);
    return report;
  });
}

Result<std::string> Compiler::debug_map(const Program& program, const WriteOptions& options,
                                        const std::string& name) const {
  return guarded([&]() -> Result<std::string> {
    TRY(Plan plan, make_plan(program, plan_options(options)));
    return debug_map_json(program, plan, name);
  });
}

Result<Compiled> Compiler::compile(const CompileOptions& options) const {
  return guarded([&] { return run_compile(options, registry_); });
}

Result<Program> lower_undelegated(Program program, const LowerOptions& options) {
  return guarded([&]() -> Result<Program> {
    if (!options.verified) TRY_STATUS(verify_input(program));
    TRY_STATUS(expand_backend_ops(program, BackendOpsToExpand::WithoutKernel));
    return normalize_undelegated(
        std::move(program),
        {.verify = options.verify_each_pass, .verified = true, .observe = options.observe});
  });
}

std::string version() {
  return fmt::format("depute {}.{}.{}", DEPUTE_VERSION_MAJOR, DEPUTE_VERSION_MINOR, DEPUTE_VERSION_PATCH);
}

std::vector<std::string_view> step_names() {
  std::vector<std::string_view> names = {"read"};
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  names.push_back("normalize");
  for (const Pass& pass : undelegated_passes()) names.push_back(pass.name);
  names.push_back("lower");
  return names;
}

}  // namespace depute
