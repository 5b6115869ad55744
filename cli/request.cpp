#include "cli/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "cli/backend_argument.h"
#include "cli/commands.h"
#include "cli/constant_argument.h"
#include "cli/progress_line.h"
#include "depute/compiler/worker.h"
#include "depute/program/result.h"
#include "depute/program/text.h"
#include "depute/tools/tuned_plan.h"

namespace depute {
namespace {

Status check_repeated(std::string_view option, const std::vector<std::string>& backends) {
  for (const std::string& backend : backends) {
    if (std::ranges::count(backends, backend) == 1) continue;
    return failure("usage", option, fmt::format("'{}' is given twice", backend),
                   "give each backend once, or with different options");
  }
  return {};
}

Status check_recipes(const std::vector<std::string>& recipes) {
  for (const std::string& name : recipes) {
    if (std::ranges::count(recipes, name) > 1)
      return failure("usage", "--recipe", fmt::format("'{}' is given twice", name), "give each recipe once");
  }
  return {};
}

Status check_names(const std::vector<std::pair<std::string, std::string>>& methods) {
  for (const auto& [name, file] : methods) {
    if (std::ranges::count(methods, name, &std::pair<std::string, std::string>::first) == 1) continue;
    return failure("usage", "--method", fmt::format("there are two methods '{}'", name));
  }
  return {};
}

Status check_step(const std::string& step) {
  const std::vector<std::string_view> known = step_names();
  const std::vector<std::string> steps(known.begin(), known.end());
  if (step.empty() || std::ranges::find(steps, step) != steps.end()) return {};
  return failure("usage", "--dump-after", fmt::format("there is no step '{}'", step),
                 did_you_mean(step, steps, fmt::format("the steps are {}", fmt::join(steps, ", "))));
}

Result<CacheOptions> read_cache(const RequestArguments& arguments) {
  CacheOptions cache{.store = arguments.cache};
  if (arguments.cache_size.empty()) return cache;
  if (arguments.cache.empty())
    return failure("usage", "--cache-size", "no cache is given", "name its folder with --cache DIR");
  const std::optional<std::uint64_t> bytes = parse_byte_size(arguments.cache_size);
  if (!bytes)
    return failure("usage", "--cache-size", fmt::format("'{}' is not a size", arguments.cache_size),
                   "write bytes, or 500M or 20G");
  cache.max_bytes = *bytes;
  return cache;
}

}  // namespace

std::vector<Option> lowering_options(RequestArguments& arguments) {
  return {
      {.names = "--backend",
       .target = &arguments.backends,
       .help = "[METHOD:]NAME[:key=value,...]; several backends are tried in the given order",
       .value = "NAME",
       .may_be_empty = true,
       .words_from = "depute backends"},
      {.names = "--recipe",
       .target = &arguments.recipes,
       .help = "Options under the name of a recipe of ExecuTorch (docs/cli.md, \"Recipes\"); options beside "
               "it win",
       .value = "NAME",
       .words_from = "depute backends --recipes"},
      {.names = "--constant",
       .target = &arguments.constants,
       .help = "NAME=JSON: add a method that returns a constant, for example get_eos_ids=[2,3]",
       .value = "NAME=VALUE",
       .may_be_empty = true},
      {.names = "--bound",
       .target = &arguments.bounds,
       .help = "SIZE=MIN..MAX: narrow the range of a dynamic size, for example s0=1..2048",
       .value = "SIZE=MIN..MAX",
       .may_be_empty = true},
      {"--kernels", &arguments.kernels,
       "File with schemas of operators for which the application registers kernels, one per line "
       "(docs/cli.md)",
       "FILE"},
      {.names = "--quantize",
       .target = &arguments.quantize,
       .help = "KIND=SCHEME[:group=N,only=..,off=..]: quantize weights, for example linear=8da4w:group=32 or "
               "conv=8da8w; "
               "or static: also quantize activations; or auto:sqnr>=30, auto:size<=12M: layer by layer",
       .value = "KIND=SCHEME",
       .may_be_empty = true,
       .words = quantize_rule_words()},
      {.names = "--calibrate",
       .target = &arguments.calibrate,
       .help = "Sample inputs for --quantize static and auto: arrays by input name; "
               "METHOD=FILE.npz: for one method",
       .value = "FILE.npz",
       .may_be_empty = true},
      {.names = "--integer-io",
       .target = &arguments.integer_io,
       .help = "[METHOD:]WHICH: take and return the integers of a quantized program: all, inputs, outputs, "
               "input0, output0, or the name of an input",
       .value = "WHICH",
       .may_be_empty = true,
       .words = integer_io_words()},
      {.names = "--tap",
       .target = &arguments.taps,
       .help = "SELECTOR[=NUMBERS]: return values inside the program, too: all, op:linear=min,max or "
               "module:layers.*=full",
       .value = "SELECTOR"},
      {.names = "--jobs",
       .target = &arguments.jobs,
       .help = "Number of threads; default: all. The output does not depend on it",
       .range = {{1, 1024}}},
      {.names = "--worker-time",
       .target = &arguments.worker_time,
       .help = "Time limit for each answer of a backend that is a separate program, in seconds; default: 600",
       .value = "SECONDS",
       .range = {{1, 1 << 20}}},
      {.names = "--worker-space",
       .target = &arguments.worker_space,
       .help = "Limit of the bytes that such a backend may write, in MiB; default: 8192",
       .value = "MIB",
       .range = {{1, 1 << 24}}},
      {"--no-sandbox", &arguments.no_sandbox,
       "Let such a backend use the network, and write outside of its folder"},
      {"--cache", &arguments.cache,
       "Folder, or http:// or https:// URL of a server, that caches the results of backends for later "
       "lowerings",
       "DIR"},
      {"--cache-size", &arguments.cache_size,
       "Size limit of that folder, for example 500M or 20G; default: 10G", "BYTES"},
      {"--together", &arguments.together,
       "Plan all backends together, for fewer delegates; default: one after another"},
      {"--verify", &arguments.verify,
       "Check all invariants after each pass, and that backends are deterministic"},
  };
}

std::vector<Option> request_options(RequestArguments& arguments) {
  std::vector<Option> options = {
      {"MODEL", &arguments.model,
       "A .pt2 file of torch.export.save, or a program as text (.ir); - is standard input"},
      {.names = "--method",
       .target = &arguments.methods,
       .help = "NAME=FILE.pt2: add a method to the program",
       .value = "NAME=FILE",
       .may_be_empty = true},
      {"--report", &arguments.reports,
       "Also write a report: FILE.json, .html, .md, .sarif or .annotations; - is standard output, "
       "as JSON",
       "FILE"},
      {"--dump-after", &arguments.dump_after, "Print the program after a step or pass", "STEP"},
  };
  const std::vector<Option> lowering = lowering_options(arguments);
  options.insert(options.begin() + 1, lowering.begin(), lowering.end());
  return options;
}

Option plan_option(RequestArguments& arguments) {
  return {.names = "--plan",
          .target = &arguments.plan,
          .help = "In place of --backend: the backends and options that `depute tune --plan` found",
          .value = "FILE",
          .excludes = "--backend"};
}

Option target_option(RequestArguments& arguments) {
  return {.names = "--target",
          .target = &arguments.targets,
          .help =
              "NAME=BACKEND: write a program for each target, OUT.NAME.pte, with a .ptd file that all share; "
              "BACKEND "
              "is an argument of --backend, a plan (.json), or nothing; repeat it for several backends",
          .value = "NAME=BACKEND",
          .may_be_empty = true,
          .excludes = "--backend"};
}

namespace {

// Adds what `--target NAME=text` says.
Status add_to_target(Target& target, const std::string& text, CompileOptions& options) {
  if (text.empty()) return {};
  if (!text.ends_with(".json") || text.find(':') != std::string::npos) {
    DEPUTE_TRY(target.backends.emplace_back(), parse_backend_argument(text));
    return {};
  }
  DEPUTE_TRY(const TunedPlan plan, read_tuned_plan(text));
  options.read_before.push_back(text);
  target.joint_planning |= plan.together;
  for (const std::string& backend : plan.backends) {
    DEPUTE_TRY(target.backends.emplace_back(), parse_backend_argument(backend));
  }
  return {};
}

}  // namespace

Result<std::vector<Target>> read_targets(const RequestArguments& arguments, CompileOptions& options) {
  DEPUTE_TRY_STATUS(check_repeated("--target", arguments.targets));
  std::vector<Target> targets;
  for (const std::string& text : arguments.targets) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return failure("usage", "--target", fmt::format("'{}' must have the form NAME=BACKEND", text),
                     "NAME becomes a part of file names");
    const std::string name = text.substr(0, equals);
    auto found = std::ranges::find(targets, name, &Target::name);
    if (found == targets.end()) found = targets.insert(found, {.name = name});
    DEPUTE_TRY_STATUS(add_to_target(*found, text.substr(equals + 1), options));
  }
  return targets;
}

namespace {

Status check_targets_alone(const RequestArguments& arguments) {
  if (arguments.targets.empty()) return {};
  if (!arguments.plan.empty())
    return failure("usage", "--plan", "cannot be combined with --target",
                   "name it there: --target NAME=plan.json");
  if (!arguments.recipes.empty())
    return failure("usage", "--recipe", "cannot be combined with --target, which names backends");
  return {};
}

}  // namespace

Result<CompileOptions> read_request(const RequestArguments& arguments) {
  DEPUTE_TRY_STATUS(check_targets_alone(arguments));
  CompileOptions options;
  options.input = arguments.model;
  DEPUTE_TRY_STATUS(check_repeated("--backend", arguments.backends));
  DEPUTE_TRY_STATUS(check_recipes(arguments.recipes));
  TunedPlan plan{.backends = arguments.backends, .together = arguments.together};
  if (!arguments.plan.empty()) {
    if (arguments.together)
      return failure("usage", "--together", "cannot be combined with --plan, which says it");
    DEPUTE_TRY(plan, read_tuned_plan(arguments.plan));
    options.read_before.push_back(arguments.plan);
    options.plan = plan;
  }
  for (const std::string& text : plan.backends) {
    DEPUTE_TRY(BackendRequest request, parse_backend_argument(text));
    options.lower.backends.push_back(std::move(request));
  }
  for (const std::string& text : arguments.methods) {
    DEPUTE_TRY(auto method, parse_method_argument(text));
    options.methods.push_back(std::move(method));
  }
  for (const std::string& text : arguments.constants) {
    DEPUTE_TRY(ConstantMethod method, parse_constant_argument(text));
    options.lower.constants.push_back(std::move(method));
  }
  for (const std::string& text : arguments.bounds) {
    DEPUTE_TRY(auto bound, parse_bound_argument(text));
    if (options.lower.bounds.insert(std::move(bound)).second) continue;
    return failure("usage", "--bound", fmt::format("'{}' is the second bound for the same size", text));
  }
  for (const std::string& text : arguments.quantize) {
    DEPUTE_TRY(QuantizeRule rule, parse_quantize_rule(text));
    options.lower.quantize.push_back(std::move(rule));
  }
  for (const std::string& text : arguments.calibrate) {
    DEPUTE_TRY(auto calibration, parse_arrays_argument("--calibrate", text));
    options.calibrate.push_back(std::move(calibration));
  }
  for (const std::string& text : arguments.integer_io) {
    DEPUTE_TRY(IntegerIoRule rule, parse_integer_io_rule(text));
    options.lower.integer_io.push_back(std::move(rule));
  }
  for (const std::string& text : arguments.taps) {
    DEPUTE_TRY(TapRule rule, parse_tap_rule(text));
    options.lower.taps.push_back(std::move(rule));
  }
  std::ranges::copy(arguments.kernels, std::back_inserter(options.read_before));
  DEPUTE_TRY(options.lower.cache, read_cache(arguments));
  if (options.input.empty() && options.methods.empty()) {
    return failure("usage", "MODEL", "expected a model or --method NAME=FILE");
  }
  DEPUTE_TRY_STATUS(check_names(options.methods));
  DEPUTE_TRY_STATUS(check_reports(arguments.reports));
  options.reports = arguments.reports;
  DEPUTE_TRY_STATUS(check_step(arguments.dump_after));
  options.lower.jobs =
      arguments.jobs > 0 ? arguments.jobs : static_cast<int>(std::thread::hardware_concurrency());
  options.lower.verify_each_pass = arguments.verify;
  options.lower.joint_planning = plan.together;
  return options;
}

namespace {

WorkerOptions read_worker_options(const RequestArguments& arguments) {
  WorkerOptions options;
  if (arguments.worker_time > 0) options.seconds = arguments.worker_time;
  if (arguments.worker_space > 0) options.max_bytes = std::uint64_t(arguments.worker_space) << 20;
  options.sandbox = !arguments.no_sandbox;
  return options;
}

}  // namespace

bool holds_lock(const Report& report, const std::string& lock, std::string_view hint) {
  if (report.lock_changes.empty()) return true;
  constexpr std::size_t max_listed = 20;
  Diagnostic changed = {
      .code = "lock",
      .where = lock,
      .message = fmt::format("the partitioning differs from the lock in {} {}", report.lock_changes.size(),
                             report.lock_changes.size() == 1 ? "place" : "places"),
      .hint = std::string(hint)};
  for (const LockChange& change : report.lock_changes) {
    if (changed.details.size() < max_listed) changed.details.push_back(change.str());
  }
  if (const std::size_t more = report.lock_changes.size() - changed.details.size(); more > 0)
    changed.details.push_back(fmt::format("and {} more; --report lists all", more));
  report_error(changed);
  return false;
}

Status prepare_request(const RequestArguments& arguments, CompileOptions& options, Compiler& compiler) {
  for (const std::string& name : arguments.recipes)
    DEPUTE_TRY_STATUS(add_recipe(compiler.registry(), name, options.lower));
  for (const std::string& path : arguments.kernels) DEPUTE_TRY_STATUS(compiler.add_kernel_file(path));
  return add_workers(compiler, options.lower.backends, read_worker_options(arguments));
}

namespace {

// Calls `compile`, which observes steps with the options that it gets.
template <typename Compile>
auto run_observed(const RequestArguments& arguments, CompileOptions options, Compile&& compile)
    -> decltype(compile(options)) {
  Status dumped;
  ProgressLine progress;
  if (!arguments.dump_after.empty() || progress.is_wanted()) {
    std::FILE* stream = writes_standard_output(options) ? stderr : stdout;
    options.lower.observe = [&, stream](std::string_view step, const Program& program) {
      progress.done(step);
      if (step != arguments.dump_after || !dumped) return;
      dumped = write_to(stream, fmt::format("; after {}\n{}", step, print(program)));
    };
  }
  if (progress.is_wanted())
    options.lower.progress = [&](std::string_view step, std::size_t done, std::size_t total) {
      progress.part(step, done, total);
    };
  auto compiled = compile(options);
  if (compiled && !dumped) return Failure(dumped.error());
  return compiled;
}

}  // namespace

Result<Compiled> run_request(const RequestArguments& arguments, CompileOptions options, Compiler& compiler) {
  DEPUTE_TRY_STATUS(prepare_request(arguments, options, compiler));
  return run_observed(arguments, std::move(options),
                      [&](const CompileOptions& observed) { return compile(compiler, observed); });
}

Result<std::vector<Compiled>> run_request(const RequestArguments& arguments, CompileOptions options,
                                          std::vector<Target> targets, Compiler& compiler) {
  DEPUTE_TRY_STATUS(prepare_request(arguments, options, compiler));
  for (Target& target : targets)
    DEPUTE_TRY_STATUS(add_workers(compiler, target.backends, read_worker_options(arguments)));
  return run_observed(arguments, std::move(options), [&](const CompileOptions& observed) {
    return compile_targets(compiler, observed, targets);
  });
}

}  // namespace depute
