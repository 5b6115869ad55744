// depute tune: finds the fastest way to delegate a program by running candidates, and writes it as a plan, as a program, or both.
//
//   depute tune model.pt2 --backend xnnpack --inputs x.npz --plan plan.json -o model.pte
//   depute lower model.pt2 --plan plan.json -o model.pte                                   the same bytes
#include <fmt/format.h>

#include <algorithm>

#include "cli/backend_argument.h"
#include "cli/commands.h"
#include "cli/progress_line.h"
#include "cli/request.h"
#include "platform/parse_number.h"
#include "read/npz.h"
#include "support/clean_up.h"
#include "support/number_text.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/run/runner.h"
#include "tools/tune/tune.h"

namespace depute {
namespace {

struct TuneArguments {
  RequestArguments request;
  std::vector<std::string> inputs;
  std::string output;
  std::string plan;
  std::string runner;
  std::string runtime;
  std::vector<std::string> plugins;
  std::vector<std::string> profiles;
  std::string budget = "60s";
  std::string color = "auto";
  std::uint64_t top = 10;
  int threads = 0;
  bool json = false;
};

// "90", "90s", "5m" or "2h".
Result<std::chrono::milliseconds> parse_duration(std::string_view option, const std::string& text) {
  constexpr std::pair<char, int> units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  constexpr std::uint64_t max_seconds = 1'000'000;
  std::string_view digits = text;
  std::uint64_t seconds = 1;
  for (const auto& [unit, length] : units) {
    if (!text.ends_with(unit)) continue;
    seconds = static_cast<std::uint64_t>(length);
    digits.remove_suffix(1);
  }
  const auto number = parse_number<std::uint64_t>(digits);
  if (number && *number > 0 && *number <= max_seconds / seconds)
    return std::chrono::seconds(*number * seconds);
  return failure("usage", option, fmt::format("'{}' is not a time", text), "for example 90s, 5m or 2h");
}

// Files of inputs by method, in the order in which they were given.
Result<std::vector<MeasuredMethod>> parse_inputs(const TuneArguments& arguments) {
  std::vector<MeasuredMethod> methods;
  for (const std::string& text : arguments.inputs) {
    TRY(auto method_and_file, parse_arrays_argument("--inputs", text));
    auto& [method, file] = method_and_file;
    TRY(const NamedArrays arrays, read_npz(file));
    auto found = std::ranges::find(methods, method, &MeasuredMethod::name);
    if (found == methods.end()) found = methods.insert(found, {.name = std::move(method), .inputs = {}});
    found->inputs.push_back(std::move(file));
  }
  return methods;
}

// Parses "DUMP=MAP".
Result<std::vector<RecordedFiles>> parse_profiles(const TuneArguments& arguments) {
  std::vector<RecordedFiles> files;
  for (const std::string& text : arguments.profiles) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size())
      return failure("usage", "--profile", fmt::format("'{}' must have the form DUMP.etdp=MAP.json", text),
                     "`depute lower --debug-map` writes the map with a program");
    files.push_back({.dump = text.substr(0, equals), .map = text.substr(equals + 1)});
  }
  if (files.empty()) return files;
  const std::pair<std::string_view, bool> others[] = {{"--inputs", !arguments.inputs.empty()},
                                                      {"--threads", arguments.threads != 0},
                                                      {"--runner", !arguments.runner.empty()},
                                                      {"--runtime", !arguments.runtime.empty()},
                                                      {"--plugin", !arguments.plugins.empty()}};
  for (const auto& [option, is_given] : others)
    if (is_given) return failure("usage", option, "nothing is run with --profile");
  return files;
}

// The words before the program's path. A command of the user's may have arguments, as in a shell.
Result<std::vector<std::string>> runner_command(const TuneArguments& arguments) {
  if (!arguments.runner.empty() && !arguments.plugins.empty())
    return failure("usage", "--plugin", "it is for `depute run`, and --runner names another command");
  if (!arguments.runner.empty())
    return std::vector<std::string>{"/bin/sh", "-c", arguments.runner + " \"$@\"", arguments.runner};
  TRY(const std::string program, find_runner(arguments.runtime));
  std::vector<std::string> words{program, "run"};
  for (const std::string& plugin : arguments.plugins) words.insert(words.end(), {"--plugin", plugin});
  return words;
}

// Fails for an output that cannot be written, before anything is measured.
Status check_outputs(const TuneArguments& arguments, const CompileOptions& options) {
  OutputSet outputs;
  for (const std::string& file : input_files(options)) outputs.add_input(file);
  for (const std::string& plugin : arguments.plugins) outputs.add_input(plugin);
  for (const std::string& input : arguments.inputs) outputs.add_input(input.substr(input.find('=') + 1));
  TRY(const std::vector<RecordedFiles> profiles, parse_profiles(arguments));
  for (const RecordedFiles& files : profiles) {
    outputs.add_input(files.dump);
    outputs.add_input(files.map);
  }
  if (!arguments.output.empty()) TRY_STATUS(outputs.reserve("-o", arguments.output));
  if (!arguments.plan.empty()) TRY_STATUS(outputs.reserve("--plan", arguments.plan));
  for (const std::string& report : arguments.request.reports) TRY_STATUS(outputs.reserve("--report", report));
  return {};
}

std::string runner_text(const TuneArguments& arguments) {
  if (!arguments.profiles.empty()) return "profiles";
  std::string words = arguments.runner.empty() ? "depute run" : arguments.runner;
  for (const std::string& plugin : arguments.plugins) words += " --plugin " + plugin;
  return words;
}

TunedPlan tuned_plan(const TuneArguments& arguments, const Tuned& tuned) {
  return {.backends = tuned.best.arguments(),
          .together = tuned.best.is_joint,
          .model = arguments.request.model,
          .runner = runner_text(arguments),
          .threads = static_cast<std::uint64_t>(arguments.threads),
          .inputs = arguments.profiles.empty() ? arguments.inputs : arguments.profiles,
          .ns = tuned.ns,
          .static_ns = tuned.static_ns,
          .tried = tuned.trials,
          .regions = tuned.regions};
}

class Progress {
 public:
  explicit Progress(std::chrono::milliseconds budget) : end_(std::chrono::steady_clock::now() + budget) {}

  void show(const TuneProgress& progress) {
    const auto left =
        std::chrono::ceil<std::chrono::seconds>(end_ - std::chrono::steady_clock::now()).count();
    constexpr double ns_per_millisecond = 1e6;
    line_.show(fmt::format("{} tried, the best takes {:.3f} ms ({:.2f} times as fast), {} s left",
                           plural(progress.measured, "plan"),
                           static_cast<double>(progress.ns) / ns_per_millisecond, progress.gain,
                           std::max<std::int64_t>(left, 0)));
  }

 private:
  std::chrono::steady_clock::time_point end_;
  ProgressLine line_;
};

// Takes the rules that an auto rule became, which need not be chosen again.
Status use_rules(const std::vector<std::string>& texts, CompileOptions& options) {
  options.calibrate.clear();
  options.lower.calibrations.clear();
  options.lower.quantize.clear();
  for (const std::string& text : texts) {
    TRY(options.lower.quantize.emplace_back(), parse_quantize_rule(text));
  }
  return {};
}

Result<Tuned> find_plan(const TuneArguments& arguments, CompileOptions& options, Compiler& compiler) {
  TuneOptions tuning;
  TRY(tuning.budget, parse_duration("--budget", arguments.budget));
  TRY(const std::vector<RecordedFiles> profiles, parse_profiles(arguments));
  if (!profiles.empty()) {
    TRY(tuning.recorded, RecordedTimes::read(profiles));
  } else {
    TRY(tuning.meter.command, runner_command(arguments));
    tuning.meter.is_traceable = arguments.runner.empty();
    TRY(tuning.meter.methods, parse_inputs(arguments));
  }
  tuning.meter.threads = arguments.threads;
  TRY_STATUS(check_outputs(arguments, options));
  TRY_STATUS(prepare_request(arguments.request, options, compiler));
  TRY(const Exported exported, read_inputs(compiler, options));
  const DelegationPlan asked{.backends = options.lower.backends, .is_joint = options.lower.joint_planning};
  tuning.write = options.write;
  Progress progress(tuning.budget);
  tuning.progress = [&](const TuneProgress& step) { progress.show(step); };
  const InterruptWatch watch;
  tuning.is_stopped = [&] { return watch.is_interrupted(); };
  TRY(const Exported quantized, compiler.quantize(exported, options.lower));
  if (const auto& chosen = quantized.quantized().chosen) TRY_STATUS(use_rules(chosen->texts, options));
  tuning.lower = options.lower;
  tuning.lower.quantize.clear();
  tuning.lower.calibrations.clear();
  return tune(compiler, quantized, asked, tuning);
}

Result<int> run_tune(const TuneArguments& arguments, Compiler& compiler) {
  TRY(CompileOptions options, read_request(arguments.request));
  if (options.lower.backends.empty())
    return failure("usage", "--backend", "no backend is named",
                   "name all that may take parts of the program, once each");
  if (arguments.request.model == "-")
    return failure("usage", "MODEL", "a model from standard input can be read only once", "give a file");
  if (arguments.json && is_standard_output(arguments.plan))
    return failure("usage", "--json", "standard output has the plan already");
  TRY(const Tuned tuned, find_plan(arguments, options, compiler));
  options.plan = tuned_plan(arguments, tuned);
  const std::string plan = tuned_plan_json(*options.plan);
  options.output = arguments.output;
  options.lower = tuned.best.applied_to(options.lower);
  if (!options.output.empty() || !options.reports.empty()) {
    TRY(const Compiled compiled, compile(compiler, options));
  }
  if (!arguments.plan.empty()) {
    OutputSet outputs;
    TRY_STATUS(outputs.write(arguments.plan, plan));
    TRY_STATUS(outputs.put_in_place());
  }
  std::FILE* stream = is_standard_output(arguments.plan) || writes_standard_output(options) ? stderr : stdout;
  if (arguments.json) return print_to(stream, plan);
  std::string rules;
  if (!arguments.request.quantize.empty()) {
    for (const QuantizeRule& rule : options.lower.quantize)
      rules += fmt::format("Measured with --quantize {}\n", rule.text);
  }
  return print_to(stream, tune_text(tuned, arguments.top, has_color(stream, arguments.color)) + rules);
}

std::vector<Option> tune_options(TuneArguments& arguments) {
  std::vector<Option> options = request_options(arguments.request);
  std::erase_if(options, [](const Option& option) {
    return option.names == "--dump-after";
  });  // each candidate has steps
  return joined(
      std::move(options),
      {
          {"--inputs", &arguments.inputs,
           "[METHOD=]FILE.npz: inputs to measure with, for `depute run`; by default random ones "
           "for each method. Each FILE is a call",
           "FILE.npz"},
          {"-o,--output", &arguments.output, "Also write the fastest program", "FILE"},
          {"--plan", &arguments.plan, "Write the plan, for `depute lower --plan`, with all measurements",
           "FILE"},
          {.names = "--threads",
           .target = &arguments.threads,
           .help = "Threads of the runtime, which otherwise chooses",
           .value = "N",
           .range = {{1, 1024}}},
          {"--budget", &arguments.budget, "Time for measuring, for example 90s or 5m; by default 60s",
           "TIME"},
          {"--runner", &arguments.runner,
           "A command that executes a .pte in place of `depute run`, on another device for "
           "instance; it gets the same words",
           "COMMAND"},
          runtime_option(arguments.runtime),
          {"--plugin", &arguments.plugins, "Load a library that registers a backend or kernels first",
           "FILE.so"},
          {"--profile", &arguments.profiles,
           "DUMP.etdp=MAP.json: run nothing, but put times together from ETDumps of programs of this model, "
           "with their debug maps",
           "DUMP=MAP"},
          top_option(arguments.top, "Plans to list, by default 10; 0: all"),
          color_option(arguments.color),
          {"--json", &arguments.json, "Print the plan as JSON"},
      });
}

}  // namespace

Command tune_command(Compiler& compiler) {
  return make_command<TuneArguments>(
      "tune", "Find the fastest way to delegate a program, by running candidates", tune_options,
      [&compiler](const TuneArguments& arguments) { return run_tune(arguments, compiler); });
}

}  // namespace depute
