// compile(): the steps of compiler.h from file to file, with lock files, requirements and reports.
#include "depute/compiler/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>

#include "depute/api.h"
#include "depute/tools/lock.h"
#include "ir/program_names.h"
#include "normalize/passes.h"
#include "plan/data_file.h"
#include "plan/plan.h"
#include "read/read_program.h"
#include "requested_backends.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/bundle/write_bundle.h"
#include "tools/doctor/advice.h"
#include "tools/etrecord/etrecord.h"
#include "tools/report/option_text.h"
#include "tools/report/report_steps.h"
#include "tools/report/step_timer.h"
#include "tools/run/run.h"
#include "tools/run/stand_ins.h"
#include "write/write_pte.h"

namespace depute {

Status check_reports(const std::vector<std::string>& reports) {
  for (const std::string& path : reports) {
    if (report_format(path) != nullptr || is_standard_output(path)) continue;
    std::vector<std::string_view> endings;
    for (const ReportFormat& format : report_formats()) endings.push_back(format.ending);
    return failure("usage", "--report",
                   fmt::format("'{}' must end in one of {}", path, fmt::join(endings, ", ")));
  }
  return {};
}

bool writes_standard_output(const CompileOptions& options) {
  return is_standard_output(options.output) || is_standard_output(options.debug_map) ||
         is_standard_output(options.etrecord) || is_standard_output(options.stand_ins) ||
         (options.update_lock && is_standard_output(options.lock)) ||
         std::ranges::any_of(options.reports, is_standard_output);
}

std::vector<std::string> input_files(const CompileOptions& options) {
  std::vector<std::string> inputs;
  if (!options.input.empty()) inputs.push_back(options.input);
  for (const auto& [name, file] : options.methods) inputs.push_back(file);
  for (const auto& [method, file] : options.calibrate) inputs.push_back(file);
  for (const TestCaseFiles& test : options.bundle) {
    inputs.push_back(test.inputs);
    if (!test.expected.empty()) inputs.push_back(test.expected);
  }
  inputs.insert(inputs.end(), options.read_before.begin(), options.read_before.end());
  return inputs;
}

namespace {

// Paths of .ptd files, each once: several patterns may share a file.
std::set<std::string> ptd_paths(const CompileOptions& options) {
  std::set<std::string> paths;
  for (const DataFile& file : options.ptd) paths.insert(file.path);
  return paths;
}

Status add_inputs(const CompileOptions& options, OutputSet& outputs) {
  const std::vector<std::string> inputs = input_files(options);
  if (std::ranges::count(inputs, "-") > 1)
    return failure("usage", "-", "standard input can be read only once");
  for (const std::string& input : inputs) outputs.add_input(input);
  return {};
}

// Without the .ptd files, which several programs may share.
Status reserve_outputs(const CompileOptions& options, OutputSet& outputs) {
  if (!options.lock.empty() && !options.update_lock) outputs.add_input(options.lock);
  if (!options.output.empty()) TRY_STATUS(outputs.reserve("-o", options.output));
  for (const std::string& report : options.reports) TRY_STATUS(outputs.reserve("--report", report));
  if (!options.debug_map.empty()) TRY_STATUS(outputs.reserve("--debug-map", options.debug_map));
  if (!options.etrecord.empty()) TRY_STATUS(outputs.reserve("--etrecord", options.etrecord));
  if (!options.stand_ins.empty()) TRY_STATUS(outputs.reserve("--stand-ins", options.stand_ins));
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

// One of the files of --ptd, or a further part of one that has a limit.
bool is_ptd(const CompileOptions& options, const std::string& path) {
  return std::ranges::any_of(options.ptd, [&](const DataFile& file) {
    std::string parts = external_path(file.path, "");
    parts.resize(parts.size() - std::string_view(".ptd").size());
    return path == file.path || (file.max_bytes > 0 && path.starts_with(parts));
  });
}

// Opens an output. Tagged named data go to a file beside the output, so the output needs a file name.
Result<std::unique_ptr<Output>> open_output(const CompileOptions& options, OutputSet& outputs,
                                            const std::string& path) {
  bool has_tag = path != options.output && !is_ptd(options, path);
  if (has_tag && file_of_rest(options.ptd) == nullptr && is_standard_output(options.output)) {
    return failure("write", path, "the program has tagged data, which needs a .ptd file next to the program",
                   "give -o a file name");
  }
  return outputs.open(path);
}

// JSON if the path has no known extension (standard output, for instance).
const ReportFormat& format_of(const std::string& report) {
  const ReportFormat* format = report_format(report);
  return format != nullptr ? *format : report_formats().front();
}

Status write_reports(const CompileOptions& options, const Report& report, OutputSet& outputs) {
  for (const std::string& path : options.reports) {
    TRY_STATUS(outputs.write(path, format_of(path).write(report)));
  }
  return {};
}

Result<std::optional<Lock>> read_lock(const CompileOptions& options) {
  if (options.lock.empty() || options.update_lock) return std::optional<Lock>();
  Result<std::shared_ptr<const MappedFile>> file = open_text(options.lock);
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

// compile() drops the rounds as soon as the report has them, since it needs their memory for later steps.
enum class Rounds { Keep, Drop };

// A program with quantized layers and taps.
struct Prepared {
  Exported exported;
  std::vector<Tap> taps;
};

Result<Prepared> prepare(const Compiler& compiler, Exported exported, const LowerOptions& options) {
  TRY(exported, compiler.quantize(std::move(exported), options));
  std::vector<Tap> taps;
  TRY(exported, compiler.tap(std::move(exported), options, &taps));
  return Prepared{.exported = std::move(exported), .taps = std::move(taps)};
}

// `record`, if given, gets the normalized program.
Result<Compiled> lower(const Compiler& compiler, Prepared prepared, const LowerOptions& options,
                       ReportParts parts, Rounds rounds, StepTimer& timer, EtRecord* record = nullptr) {
  std::optional<Exported> kept;  // for the advice
  if (parts.advice) kept = prepared.exported;
  TRY(Edge edge, compiler.to_edge(std::move(prepared.exported), options));
  timer.done("normalize");
  TRY(Delegated delegated, compiler.to_backend(std::move(edge), options));
  Report report = report_nodes(delegated, parts);
  report.taps = std::move(prepared.taps);
  if (record != nullptr) record->edge = delegated.shared_normalized();
  if (rounds == Rounds::Drop) delegated = std::move(delegated).without_rounds();
  TRY(delegated, lower_undelegated(std::move(delegated), options));
  add_delegates(report, delegated.program());
  TRY(delegated, add_constants(std::move(delegated), options.constants));
  const std::vector<ConstantMethod> tells_io = config_methods(delegated.quantized().integer_io);
  TRY(delegated, add_constants(std::move(delegated), tells_io));
  timer.done("lower");
  TRY_STATUS(report_step(options.observe, "lower", delegated.program()));
  if (kept) {
    add_advice(report, compiler, *kept, options);
    timer.done("advise");
  }
  return Compiled{.delegated = std::move(delegated), .report = std::move(report)};
}

Result<Exported> read_programs(const Compiler& compiler, const CompileOptions& options) {
  if (options.input.empty() && options.methods.empty())
    return failure("usage", "", "there is no program to compile");
  std::vector<std::pair<std::string, Exported>> methods;
  std::optional<Exported> first;
  if (!options.input.empty()) {
    TRY(first, compiler.load(options.input));
  }
  for (const auto& [name, file] : options.methods) {
    TRY(Exported method, compiler.load(file));
    methods.emplace_back(name, std::move(method));
  }
  return first ? compiler.join(*std::move(first), std::move(methods)) : compiler.join(std::move(methods));
}

Status read_samples(const CompileOptions& options, LowerOptions& lower) {
  if (!options.calibrate.empty()) lower.calibrations.clear();
  for (const auto& [method, file] : options.calibrate) {
    TRY(NamedArrays arrays, read_npz(file));
    lower.calibrations.push_back({.method = method, .name = file, .arrays = std::move(arrays)});
  }
  return {};
}

struct BundledArrays {
  NamedArrays inputs;
  NamedArrays expected;
};

// The input of all targets: the model as it is before normalization, and test cases.
struct Source {
  Prepared prepared;
  std::shared_ptr<const Program> exported;  // before quantization
  std::vector<BundledArrays> bundled;       // as CompileOptions::bundle
  std::optional<Program> model;             // for expected outputs, if they are wanted
};

// One program while it is compiled: its options, and everything that later steps add to.
class Compilation {
 public:
  Compilation(const Compiler& compiler, const CompileOptions& options, OutputSet& outputs)
      : compiler_(compiler), options_(options), parts_(options.parts), outputs_(outputs) {
    parts_.splits |= options.output.empty() || !options.reports.empty();
    const bool has_page = std::ranges::any_of(
        options.reports, [](const std::string& report) { return format_of(report).has_page_facts; });
    parts_.page |= has_page || parts_.advice;
    parts_.advice |= has_page;
  }

  // Checks all that needs no model.
  Status check() {
    TRY(const std::vector<RequestedBackend> backends,
        find_backends(options_.lower.backends, compiler_.registry()));
    std::vector<std::string> asked;
    for (const RequestedBackend& backend : backends) asked.push_back(backend.name);
    TRY_STATUS(check_requirements(options_.requirements, asked));
    TRY_STATUS(reserve_outputs(options_, outputs_));
    TRY(lock_, read_lock(options_));
    return {};
  }

  // Lowers and plans the program, and checks all requirements but those on the size of the file.
  Status lower(Prepared prepared, const LowerOptions& options, StepTimer& timer) {
    EtRecord* record = options_.etrecord.empty() ? nullptr : &record_;
    TRY(compiled_,
        depute::lower(compiler_, std::move(prepared), options, parts_, Rounds::Drop, timer, record));
    describe();
    TRY_STATUS(check_lock(timer));
    return plan(timer);
  }

  bool has_output() const { return !options_.output.empty(); }
  // True if the program is to be written, if only to check its size.
  bool is_writable() const {
    return has_output() && executable_ &&
           (is_held() || std::ranges::any_of(options_.requirements, needs_file));
  }
  bool is_held() const { return report().unmet.empty() && report().lock_changes.empty(); }

  ProgramToWrite to_write() const {
    return {executable_->program(), executable_->plan(), options_.output, executable_->options()};
  }

  Result<WriteSummary> write_bundle(const OpenOutput& open, const Source& source) const {
    TRY(std::vector<TestCase> cases, test_cases(source));
    return write_bundle_to(open, *executable_, cases, options_.output);
  }

  // Writes what goes with the program, and completes its report.
  Status complete(WriteSummary summary, const Source& source, StepTimer& timer) {
    if (!options_.debug_map.empty())
      TRY_STATUS(outputs_.write(options_.debug_map, debug_map(*executable_, options_.output)));
    TRY_STATUS(write_record(source));
    if (!options_.stand_ins.empty())
      TRY_STATUS(outputs_.write(options_.stand_ins, stand_ins_json(*executable_)));
    timer.done("write");
    std::shared_ptr<const MappedFile> written;
    if (report().page != nullptr) {
      TRY(written, outputs_.written(options_.output));
    }
    const PteFile file{.name = options_.output, .summary = std::move(summary)};
    add_output(report(), *executable_, file,
               written == nullptr ? std::span<const std::byte>() : written->bytes(), compiler_.registry());
    report().unmet = unmet(report(), options_.requirements);
    return {};
  }

  // The program is not written after all.
  void forget_written() {
    report().output.clear();
    report().output_bytes = 0;
    report().external_files.clear();
  }

  Report& report() { return compiled_->report; }
  const Report& report() const { return compiled_->report; }
  Status write_reports() { return depute::write_reports(options_, report(), outputs_); }
  Compiled take() { return *std::move(compiled_); }

 private:
  void describe() {
    report().input = options_.input.empty() ? options_.methods[0].second : options_.input;
    report().command = command_text(options_);
    report().version = version();
    report().date = source_date();
    report().plan = options_.plan;
  }

  // Compares the lowered program with the lock file, or writes the lock file.
  Status check_lock(StepTimer& timer) {
    if (options_.lock.empty()) return {};
    const Lock now = make_lock(compiled_->delegated.program(), compiler_.registry(), version(),
                               deciding_options(options_.lower));
    if (lock_) {
      report().lock_changes = lock_changes(*lock_, now);
    } else {
      TRY_STATUS(outputs_.write(options_.lock, lock_text(now)));
    }
    timer.done("lock");
    return {};
  }

  Status plan(StepTimer& timer) {
    WriteOptions write = options_.write;
    write.jobs = options_.lower.jobs;
    write.ptd = options_.ptd;
    std::vector<Refusal> refusals;
    Result<Executable> executable = to_executorch(compiled_->delegated, write, &refusals);
    timer.done("plan");
    if (executable) add_plan(report(), *executable);
    report().unmet = unmet(report(), options_.requirements, false);
    if (has_output() && is_held() && !executable) return Failure(executable.error());
    add_refusals(report(), compiled_->delegated.program(), refusals);
    if (executable) executable_ = *std::move(executable);
    return {};
  }

  static Result<const ExecutionPlan*> bundled_method(const TestCaseFiles& files, const Plan& plan) {
    std::vector<const ExecutionPlan*> with_inputs;
    std::vector<std::string_view> names;
    for (const ExecutionPlan& method : plan.methods) {
      if (method.name == files.method || (files.method.empty() && plan.methods.size() == 1)) return &method;
      names.push_back(method.name);
      if (!method.inputs.empty()) with_inputs.push_back(&method);
    }
    if (files.method.empty() && with_inputs.size() == 1) return with_inputs[0];
    return failure("usage", "--bundle",
                   files.method.empty() ? fmt::format("{} is for one of several methods", files.inputs)
                                        : fmt::format("there is no method {}", files.method),
                   fmt::format("name it with --bundle METHOD=FILE.npz: {}", fmt::join(names, ", ")));
  }

  Result<std::vector<TestCase>> test_cases(const Source& source) const {
    std::vector<TestCase> cases;
    for (std::size_t i = 0; i < source.bundled.size(); ++i) {
      const TestCaseFiles& files = options_.bundle[i];
      TRY(const ExecutionPlan* method, bundled_method(files, executable_->plan()));
      TestCase& test = cases.emplace_back();
      test.method = method->name;
      TRY(test.inputs, call_of_arrays(*method, source.bundled[i].inputs, files.inputs));
      if (files.expected.empty()) continue;
      TRY(test.expected, results_of_arrays(*method, source.bundled[i].expected, files.expected));
    }
    if (!source.model) return cases;
    return with_expected_outputs(*executable_, std::move(cases), &*source.model);
  }

  Status write_record(const Source& source) {
    if (options_.etrecord.empty()) return {};
    record_.exported = source.exported;
    TRY(const std::unique_ptr<Output> output, outputs_.open(options_.etrecord));
    TRY_STATUS(write_etrecord(record_, *executable_, *output));
    return output->commit();
  }

  const Compiler& compiler_;
  const CompileOptions& options_;
  ReportParts parts_;
  OutputSet& outputs_;
  std::optional<Lock> lock_;
  EtRecord record_;
  std::optional<Compiled> compiled_;
  std::optional<Executable> executable_;
};

struct TargetOptions {
  std::string target;  // empty: the only one
  CompileOptions options;
};

// Compiles programs that differ in their backends and outputs alone. Reads and quantizes the model once, and writes their .ptd files as
// one set.
class CompilationSet {
 public:
  CompilationSet(const Compiler& compiler, std::span<const TargetOptions> programs)
      : compiler_(compiler), first_(programs.front().options), lower_(first_.lower), programs_(programs) {
    for (const TargetOptions& program : programs) runs_.emplace_back(compiler, program.options, outputs_);
  }

  Result<std::vector<Compiled>> run() {
    TRY_STATUS(add_inputs(first_, outputs_));
    for (const std::string& path : ptd_paths(first_)) TRY_STATUS(outputs_.reserve("--ptd", path));
    for (Compilation& run : runs_) TRY_STATUS(run.check());
    TRY(Source source, read());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const bool is_last = i + 1 == runs_.size();
      // The last one may edit the only copy.
      Prepared prepared = is_last ? std::move(source.prepared) : source.prepared;
      TRY_STATUS(lower(i, std::move(prepared), source));
    }
    TRY_STATUS(write(source));
    std::vector<Compiled> compiled;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].report().times = std::move(times_of_[i]);
      TRY_STATUS(runs_[i].write_reports());
    }
    TRY_STATUS(outputs_.put_in_place());
    for (Compilation& run : runs_) compiled.push_back(run.take());
    return compiled;
  }

 private:
  Result<Source> read() {
    TRY(Exported exported, read_programs(compiler_, first_));
    TRY_STATUS(read_samples(first_, lower_));
    std::vector<BundledArrays> bundled;
    for (const TestCaseFiles& test : first_.bundle) {
      TRY(bundled.emplace_back().inputs, read_npz(test.inputs));
      if (!test.expected.empty()) {
        TRY(bundled.back().expected, read_npz(test.expected));
      }
    }
    TRY_STATUS(check_data_files(exported.program(), outputs_));
    timer_.done("read");
    TRY_STATUS(report_step(lower_.observe, "read", exported.program()));
    for (const TargetOptions& program : programs_)
      TRY_STATUS(check_methods(exported.program(), program.options.lower.backends));
    std::shared_ptr<const Program> before;
    if (!first_.etrecord.empty()) before = exported.shared_program();
    TRY(Prepared prepared, prepare(compiler_, std::move(exported), lower_));
    return Source{.prepared = std::move(prepared),
                  .exported = std::move(before),
                  .bundled = std::move(bundled),
                  .model = {}};
  }

  Status lower(std::size_t index, Prepared prepared, Source& source) {
    const auto& [target, compile_options] = programs_[index];
    LowerOptions options = compile_options.lower;
    const auto is_incomplete = [](const TestCaseFiles& test) { return test.expected.empty(); };
    if (std::ranges::any_of(first_.bundle, is_incomplete)) keep_model(options, source);
    const std::size_t shared = 1;  // "read"
    Status lowered = runs_[index].lower(std::move(prepared), options, timer_);
    if (!lowered && !target.empty()) lowered.error().details.push_back("target " + target);
    times_of_.push_back(times_);
    times_.resize(shared);
    return lowered;
  }

  // Keeps the program after the first pass after which nothing is written in place: the reference kernels execute that alone.
  static void keep_model(LowerOptions& options, Source& source) {
    options.observe = [&source, observe = options.observe](std::string_view step, const Program& program) {
      if (observe) observe(step, program);
      if (step == "functionalize" && !source.model) source.model = clone(program);
    };
  }

  // Writes all programs, or none if a requirement of one does not hold. Those on the size of the file are checked after writing.
  Status write(const Source& source) {
    std::vector<std::size_t> written;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].is_writable()) {
        written.push_back(i);
      } else if (runs_[i].has_output()) {
        outputs_.drop_written();
      }
    }
    if (written.empty()) return {};
    TRY(std::vector<WriteSummary> summaries, write_programs(written, source));
    for (std::size_t i = 0; i < written.size(); ++i) {
      times_.clear();
      TRY_STATUS(runs_[written[i]].complete(std::move(summaries[i]), source, timer_));
      std::ranges::move(times_, std::back_inserter(times_of_[written[i]]));
    }
    const auto is_kept = [](const Compilation& run) { return run.is_held() && run.is_writable(); };
    if (std::ranges::all_of(runs_, is_kept)) return {};
    outputs_.drop_written();
    for (Compilation& run : runs_) run.forget_written();
    return {};
  }

  Result<std::vector<WriteSummary>> write_programs(const std::vector<std::size_t>& indices,
                                                   const Source& source) {
    const auto open = [&](const std::string& path) { return open_output(first_, outputs_, path); };
    if (!first_.bundle.empty()) {
      std::vector<WriteSummary> summaries;
      TRY(summaries.emplace_back(), runs_.front().write_bundle(open, source));
      return summaries;
    }
    std::vector<ProgramToWrite> programs;
    for (const std::size_t index : indices) programs.push_back(runs_[index].to_write());
    return write_ptes_to(open, programs);
  }

  const Compiler& compiler_;
  const CompileOptions& first_;
  LowerOptions lower_;
  std::span<const TargetOptions> programs_;
  OutputSet outputs_;
  std::deque<Compilation> runs_;  // as programs_
  std::vector<StepTime> times_;
  std::vector<std::vector<StepTime>> times_of_;
  StepTimer timer_{times_};
};

}  // namespace

Result<Exported> read_inputs(const Compiler& compiler, CompileOptions& options) {
  return guarded([&]() -> Result<Exported> {
    const NameScope::Use use(NameScope::current_or_new());
    TRY_STATUS(read_samples(options, options.lower));
    return read_programs(compiler, options);
  });
}

Result<Compiled> lower_and_report(const Compiler& compiler, Exported exported, const LowerOptions& options,
                                  ReportParts parts) {
  const NameScope::Use use(names_of(exported.program()));
  std::vector<StepTime> times;
  StepTimer timer(times);
  TRY(Prepared prepared, prepare(compiler, std::move(exported), options));
  TRY(Compiled compiled, lower(compiler, std::move(prepared), options, parts, Rounds::Keep, timer));
  compiled.report.times = std::move(times);
  return compiled;
}

Result<Compiled> compile(const Compiler& compiler, const CompileOptions& options) {
  return guarded([&]() -> Result<Compiled> {
    const NameScope::Use use(NameScope::current_or_new());
    const TargetOptions only{.target = {}, .options = options};
    TRY(std::vector<Compiled> compiled, CompilationSet(compiler, std::span(&only, 1)).run());
    return std::move(compiled.front());
  });
}

std::string target_path(const std::string& path, const std::string& target) {
  std::filesystem::path file(path);
  return (file.parent_path() /
          fmt::format("{}.{}{}", file.stem().string(), target, file.extension().string()))
      .generic_string();
}

namespace {

Status check_targets(const CompileOptions& options, std::span<const Target> targets) {
  if (targets.empty()) return failure("usage", "--target", "there is no target");
  if (!options.lower.backends.empty())
    return failure("usage", "--backend", "it cannot be combined with --target, which names backends");
  if (!options.bundle.empty()) return failure("usage", "--bundle", "it cannot be combined with --target");
  if (options.output.empty()) return failure("usage", "-o", "programs for targets need a file name");
  if (writes_standard_output(options))
    return failure("usage", "-", "outputs for several targets are files", "give each output a name");
  std::set<std::string_view> names;
  for (const Target& target : targets) {
    const bool is_word = std::ranges::all_of(target.name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '-';
    });
    if (target.name.empty() || !is_word)
      return failure("usage", "--target", fmt::format("'{}' is no name for a target", target.name),
                     "it becomes a part of file names: letters, digits, '-' and '_'");
    if (!names.insert(target.name).second)
      return failure("usage", "--target", fmt::format("there are two targets '{}'", target.name));
  }
  return {};
}

CompileOptions options_of(const CompileOptions& all, const Target& target) {
  CompileOptions options = all;
  options.lower.backends = target.backends;
  options.lower.joint_planning |= target.joint_planning;
  for (std::string* path :
       {&options.output, &options.lock, &options.debug_map, &options.etrecord, &options.stand_ins}) {
    if (!path->empty()) *path = target_path(*path, target.name);
  }
  for (std::string& report : options.reports) report = target_path(report, target.name);
  if (options.ptd.empty())
    options.ptd.push_back(
        {.path = std::filesystem::path(all.output).replace_extension(".ptd").generic_string()});
  return options;
}

}  // namespace

Result<std::vector<Compiled>> compile_targets(const Compiler& compiler, const CompileOptions& options,
                                              std::span<const Target> targets) {
  return guarded([&]() -> Result<std::vector<Compiled>> {
    TRY_STATUS(check_targets(options, targets));
    const NameScope::Use use(NameScope::current_or_new());
    std::vector<TargetOptions> programs;
    for (const Target& target : targets)
      programs.push_back({.target = target.name, .options = options_of(options, target)});
    return CompilationSet(compiler, programs).run();
  });
}

}  // namespace depute
