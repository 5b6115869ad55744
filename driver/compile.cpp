// compile(): the steps of compiler.h from file to file, with lock files, requirements and reports.
#include "depute/compiler/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>

#include "depute/api.h"
#include "depute/tools/lock.h"
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
         std::ranges::any_of(options.reports, is_standard_output);
}

namespace {

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
  for (const TestCaseFiles& test : options.bundle) {
    inputs.push_back(test.inputs);
    if (!test.expected.empty()) inputs.push_back(test.expected);
  }
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

// `record`, if given, gets the programs that an ETRecord has.
Result<Compiled> lower(const Compiler& compiler, Exported exported, const LowerOptions& options,
                       ReportParts parts, Rounds rounds, EtRecord* record = nullptr) {
  if (record != nullptr) record->exported = exported.shared_program();
  std::vector<StepTime> times;
  StepTimer timer(times);
  TRY(exported, compiler.quantize(std::move(exported), options));
  std::vector<Tap> taps;
  TRY(exported, compiler.tap(std::move(exported), options, &taps));
  std::optional<Exported> kept;  // for the advice
  if (parts.advice) kept = exported;
  TRY(Edge edge, compiler.to_edge(std::move(exported), options));
  timer.done("normalize");
  TRY(Delegated delegated, compiler.to_backend(std::move(edge), options));
  Report report = report_nodes(delegated, parts);
  report.taps = std::move(taps);
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
  report.times = std::move(times);
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

// compile() while it runs: its options, and everything that later steps add to.
class Compilation {
 public:
  Compilation(const Compiler& compiler, const CompileOptions& options)
      : compiler_(compiler), options_(options), lower_(options.lower), parts_(options.parts) {
    parts_.splits |= options.output.empty() || !options.reports.empty();
    const bool has_page = std::ranges::any_of(
        options.reports, [](const std::string& report) { return format_of(report).has_page_facts; });
    parts_.page |= has_page || parts_.advice;
    parts_.advice |= has_page;
    const auto is_incomplete = [](const TestCaseFiles& test) { return test.expected.empty(); };
    if (std::ranges::any_of(options.bundle, is_incomplete)) keep_model();
  }

  Result<Compiled> run() {
    TRY_STATUS(check_request());
    TRY_STATUS(check_files(options_, outputs_));
    TRY(const std::optional<Lock> lock, read_lock(options_));
    TRY(Exported exported, read());
    EtRecord* record = options_.etrecord.empty() ? nullptr : &record_;
    TRY(Compiled compiled, lower(compiler_, std::move(exported), lower_, parts_, Rounds::Drop, record));
    std::ranges::move(compiled.report.times, std::back_inserter(times_));
    timer_.restart();
    describe(compiled.report);
    TRY_STATUS(check_lock(lock, compiled));
    TRY_STATUS(finish(compiled));
    compiled.report.times = std::move(times_);
    TRY_STATUS(write_reports(options_, compiled.report, outputs_));
    TRY_STATUS(outputs_.put_in_place());
    return compiled;
  }

 private:
  Status check_request() {
    TRY(const std::vector<RequestedBackend> backends,
        find_backends(options_.lower.backends, compiler_.registry()));
    std::vector<std::string> asked;
    for (const RequestedBackend& backend : backends) asked.push_back(backend.name);
    return check_requirements(options_.requirements, asked);
  }

  Result<Exported> read() {
    TRY(Exported exported, read_programs(compiler_, options_));
    TRY_STATUS(read_samples(options_, lower_));
    for (const TestCaseFiles& test : options_.bundle) {
      TRY(bundled_.emplace_back().inputs, read_npz(test.inputs));
      if (!test.expected.empty()) {
        TRY(bundled_.back().expected, read_npz(test.expected));
      }
    }
    TRY_STATUS(check_data_files(exported.program(), outputs_));
    timer_.done("read");
    TRY_STATUS(report_step(lower_.observe, "read", exported.program()));
    return exported;
  }

  void describe(Report& report) const {
    report.input = options_.input.empty() ? options_.methods[0].second : options_.input;
    report.command = command_text(options_);
    report.version = version();
    report.date = source_date();
  }

  // Compares the lowered program with the lock file, or writes the lock file.
  Status check_lock(const std::optional<Lock>& before, Compiled& compiled) {
    if (options_.lock.empty()) return {};
    const Lock now = make_lock(compiled.delegated.program(), compiler_.registry(), version(),
                               deciding_options(options_.lower));
    if (before) {
      compiled.report.lock_changes = lock_changes(*before, now);
    } else {
      TRY_STATUS(outputs_.write(options_.lock, lock_text(now)));
    }
    timer_.done("lock");
    return {};
  }

  // Plans the program, checks the requirements and writes the output, if there is one. Requirements on the file
  // size are checked after writing.
  Status finish(Compiled& compiled) {
    Report& report = compiled.report;
    WriteOptions write = options_.write;
    write.jobs = lower_.jobs;
    write.ptd = options_.ptd;
    std::vector<Refusal> refusals;
    const Result<Executable> executable = to_executorch(compiled.delegated, write, &refusals);
    timer_.done("plan");
    if (executable) add_plan(report, *executable);
    report.unmet = unmet(report, options_.requirements, false);
    const bool is_held = report.unmet.empty() && report.lock_changes.empty();
    const bool is_written = !options_.output.empty();
    if (is_written && is_held && !executable) return Failure(executable.error());
    add_refusals(report, compiled.delegated.program(), refusals);
    if (!is_written) return {};
    if (!executable || (!is_held && std::ranges::none_of(options_.requirements, needs_file))) {
      outputs_.drop_written();
      return {};
    }
    TRY_STATUS(write_output(*executable, report));
    report.unmet = unmet(report, options_.requirements);
    if (!report.unmet.empty() || !report.lock_changes.empty()) forget_written(report);
    return {};
  }

  Status write_output(const Executable& executable, Report& report) {
    const auto open = [&](const std::string& path) { return open_output(options_, outputs_, path); };
    PteFile file{.name = options_.output};
    if (options_.bundle.empty()) {
      TRY(file.summary,
          write_pte_to(open, executable.program(), executable.plan(), options_.output, executable.options()));
    } else {
      TRY(const std::vector<TestCase> cases, test_cases(executable));
      TRY(file.summary, write_bundle_to(open, executable, cases, options_.output));
    }
    if (!options_.debug_map.empty()) {
      TRY_STATUS(outputs_.write(options_.debug_map, debug_map(executable, options_.output)));
    }
    TRY_STATUS(write_record(executable));
    if (!options_.stand_ins.empty())
      TRY_STATUS(outputs_.write(options_.stand_ins, stand_ins_json(executable)));
    timer_.done("write");
    std::shared_ptr<const MappedFile> written;
    if (report.page != nullptr) {
      TRY(written, outputs_.written(options_.output));
    }
    add_output(report, executable, file, written == nullptr ? std::span<const std::byte>() : written->bytes(),
               compiler_.registry());
    return {};
  }

  // Keeps the program after the first pass after which nothing is written in place: the reference kernels execute that alone.
  void keep_model() {
    lower_.observe = [this, observe = lower_.observe](std::string_view step, const Program& program) {
      if (observe) observe(step, program);
      if (step == "functionalize" && !model_) model_ = clone(program);
    };
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

  Result<std::vector<TestCase>> test_cases(const Executable& executable) const {
    std::vector<TestCase> cases;
    for (std::size_t i = 0; i < bundled_.size(); ++i) {
      const TestCaseFiles& files = options_.bundle[i];
      TRY(const ExecutionPlan* method, bundled_method(files, executable.plan()));
      TestCase& test = cases.emplace_back();
      test.method = method->name;
      TRY(test.inputs, call_of_arrays(*method, bundled_[i].inputs, files.inputs));
      if (files.expected.empty()) continue;
      TRY(test.expected, results_of_arrays(*method, bundled_[i].expected, files.expected));
    }
    return model_ ? with_expected_outputs(executable, std::move(cases), &*model_) : cases;
  }

  Status write_record(const Executable& executable) {
    if (options_.etrecord.empty()) return {};
    TRY(const std::unique_ptr<Output> output, outputs_.open(options_.etrecord));
    TRY_STATUS(write_etrecord(record_, executable, *output));
    return output->commit();
  }

  // Discards everything written so far.
  void forget_written(Report& report) {
    outputs_.drop_written();
    report.output.clear();
    report.output_bytes = 0;
    report.external_files.clear();
  }

  const Compiler& compiler_;
  const CompileOptions& options_;
  LowerOptions lower_;
  ReportParts parts_;
  std::optional<Program> model_;  // for expected outputs, if they are wanted
  struct BundledArrays {
    NamedArrays inputs;
    NamedArrays expected;
  };
  std::vector<BundledArrays> bundled_;  // as options_.bundle
  EtRecord record_;
  OutputSet outputs_;
  std::vector<StepTime> times_;
  StepTimer timer_{times_};
};

}  // namespace

Result<Exported> read_inputs(const Compiler& compiler, CompileOptions& options) {
  return guarded([&]() -> Result<Exported> {
    TRY_STATUS(read_samples(options, options.lower));
    return read_programs(compiler, options);
  });
}

Result<Compiled> lower_and_report(const Compiler& compiler, Exported exported, const LowerOptions& options,
                                  ReportParts parts) {
  return lower(compiler, std::move(exported), options, parts, Rounds::Keep);
}

Result<Compiled> compile(const Compiler& compiler, const CompileOptions& options) {
  return guarded([&] { return Compilation(compiler, options).run(); });
}

}  // namespace depute
