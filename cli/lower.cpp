// depute lower: compiles a .pt2 to a .pte, with a report.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <span>

#include "cli/backend_argument.h"
#include "cli/commands.h"
#include "cli/memory_argument.h"
#include "cli/request.h"

namespace depute {
namespace {

struct LowerArguments {
  RequestArguments request;
  std::string output;
  std::vector<std::string> ptd;
  std::vector<std::string> bundle;
  std::vector<std::string> bundle_expected;
  std::string debug_map;
  std::string etrecord;
  std::string stand_ins;
  std::string require;
  std::string lock;
  bool lock_update = false;
  std::uint64_t segment_alignment = WriteOptions().segment_alignment;
  std::uint64_t delegate_alignment = WriteOptions().delegate_alignment;
  bool inline_delegates = false;
  bool alloc_inputs = true;
  bool alloc_outputs = true;
  bool stack_traces = false;
  bool alloc_state = true;
  std::uint64_t constant_alignment = WriteOptions().constant_alignment;
  std::string memory;
  std::vector<std::string> memory_pins;
  std::string color = "auto";
  bool quiet = false;
  bool verbose = false;
};

constexpr std::string_view bundle_ending = ".bpte";

Result<std::string> default_output(const CompileOptions& options) {
  const std::string& first = options.input.empty() ? options.methods[0].second : options.input;
  if (first == "-") return failure("usage", "-o", "a model from standard input needs -o FILE");
  const std::string_view ending = options.bundle.empty() ? ".pte" : bundle_ending;
  std::string output = std::filesystem::path(first).replace_extension(ending).generic_string();
  if (output != first) return output;
  return failure("usage", "MODEL", fmt::format("'{}' is the name of an output file", first),
                 "give the .pt2 file that it was lowered from, or another output with -o");
}

// Parses "FILE.ptd", "PATTERN=FILE.ptd" or "FILE.ptd:max=1G".
Result<DataFile> parse_ptd_argument(std::string text) {
  constexpr std::string_view limit = ".ptd:max=";
  DataFile file;
  if (const std::size_t at = text.rfind(limit); at != std::string::npos) {
    const auto bytes = parse_byte_size(std::string_view(text).substr(at + limit.size()));
    if (!bytes || *bytes == 0)
      return failure("usage", "--ptd", fmt::format("'{}' has no size behind max=", text),
                     "a size is a number of bytes, or of K, M or G: model.ptd:max=1G");
    file.max_bytes = *bytes;
    text.resize(at + limit.find(':'));
  }
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) file.pattern = text.substr(0, equals);
  file.path = text.substr(equals == std::string::npos ? 0 : equals + 1);
  if (file.pattern.empty())
    return failure("usage", "--ptd", fmt::format("'{}' must have the form PATTERN=FILE.ptd", text));
  if (!file.path.ends_with(".ptd"))
    return failure("usage", "--ptd", fmt::format("'{}' is not the name of a .ptd file", file.path));
  return file;
}

// Test cases, whose expected outputs are given for all or for none.
Result<std::vector<TestCaseFiles>> read_bundle_arguments(const LowerArguments& arguments) {
  const std::size_t expected = arguments.bundle_expected.size();
  if (expected != 0 && expected != arguments.bundle.size())
    return failure("usage", "--bundle-expected",
                   fmt::format("given {} times, and --bundle {} times", expected, arguments.bundle.size()),
                   "give it once for each --bundle, in the same order, or not at all");
  std::vector<TestCaseFiles> cases;
  for (const std::string& text : arguments.bundle) {
    DEPUTE_TRY(auto files_of_method, parse_arrays_argument("--bundle", text));
    TestCaseFiles files{.method = std::move(files_of_method.first),
                        .inputs = std::move(files_of_method.second)};
    if (expected != 0) files.expected = arguments.bundle_expected[cases.size()];
    cases.push_back(std::move(files));
  }
  return cases;
}

// A loader that expects a .pte does not read a bundled program, so the ending of the output tells which it is.
Status check_ending(const CompileOptions& options) {
  const bool is_bundle = options.output.ends_with(bundle_ending);
  if (options.output == "-" || is_bundle != options.bundle.empty()) return {};
  return is_bundle ? failure("usage", "-o", fmt::format("'{}' needs test cases", options.output),
                             "give their inputs with --bundle FILE.npz, or another ending")
                   : failure("usage", "-o", fmt::format("'{}' must end in .bpte", options.output),
                             "--bundle makes a bundled program, which is no .pte");
}

Result<CompileOptions> read_arguments(const LowerArguments& arguments) {
  DEPUTE_TRY(CompileOptions options, read_request(arguments.request));
  DEPUTE_TRY(options.requirements, parse_requirements(arguments.require));
  DEPUTE_TRY(options.bundle, read_bundle_arguments(arguments));
  options.output = arguments.output;
  if (options.output.empty()) {
    DEPUTE_TRY(options.output, default_output(options));
  }
  DEPUTE_TRY_STATUS(check_ending(options));
  for (const std::string& text : arguments.ptd) {
    DEPUTE_TRY(DataFile file, parse_ptd_argument(text));
    options.ptd.push_back(std::move(file));
  }
  options.debug_map = arguments.debug_map;
  options.etrecord = arguments.etrecord;
  options.stand_ins = arguments.stand_ins;
  if (arguments.lock_update && arguments.lock.empty())
    return failure("usage", "--lock-update", "no lock file is given", "name it with --lock FILE");
  options.lock = arguments.lock;
  options.update_lock = arguments.lock_update;
  options.write.segment_alignment = arguments.segment_alignment;
  options.write.delegate_alignment = arguments.delegate_alignment;
  options.write.extract_delegate_segments = !arguments.inline_delegates;
  options.write.alloc_inputs = arguments.alloc_inputs;
  options.write.alloc_outputs = arguments.alloc_outputs;
  options.write.stack_traces = arguments.stack_traces;
  options.write.alloc_state = arguments.alloc_state;
  options.write.constant_alignment = arguments.constant_alignment;
  DEPUTE_TRY(options.write.banks, parse_memory_argument(arguments.memory));
  for (const std::string& text : arguments.memory_pins) {
    DEPUTE_TRY(MemoryPin pin, parse_memory_pin_argument(text));
    options.write.memory_pins.push_back(std::move(pin));
  }
  DEPUTE_TRY_STATUS(check_memory(options.write));
  return options;
}

// Prints all unmet requirements and differences from the lock. Returns true if there are none.
bool meets_conditions(const Report& report, const std::string& lock) {
  for (const std::string& line : report.unmet) {
    const bool is_last = &line == &report.unmet.back();
    report_error(
        failure("require", "", "not met: " + line,
                is_last ? "no program was written; `depute explain` shows why nodes are undelegated" : "")
            .error());
  }
  const bool is_locked = holds_lock(
      report, lock, "no program was written; to accept the change, update the lock with --lock-update");
  return report.unmet.empty() && is_locked;
}

// A line for each recipe with the options that it stands for.
Result<std::string> recipe_lines(const RequestArguments& request, const Registry& registry) {
  std::string lines;
  for (const std::string& name : request.recipes) {
    DEPUTE_TRY(const auto found, registry.find_recipe(name));
    lines += fmt::format("{}: {}\n", name, options_text(*found.first, *found.second));
  }
  return lines;
}

// Prints the summaries. Returns the exit code. `targets` is empty or as `compiled`.
Result<int> tell(const LowerArguments& arguments, const CompileOptions& options,
                 std::span<const Compiled> compiled, std::span<const std::string> targets,
                 const std::string& first_lines) {
  int code = exit_done;
  if (!arguments.quiet) {
    std::FILE* stream = writes_standard_output(options) ? stderr : stdout;
    std::string text = first_lines;
    for (const Compiled& each : compiled) {
      if (&each != &compiled.front()) text += '\n';
      text += summary_text(each.report, arguments.verbose, has_color(stream, arguments.color));
    }
    code = print_to(stream, text);
  }
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    const std::string lock =
        targets.empty() || options.lock.empty() ? options.lock : target_path(options.lock, targets[i]);
    if (!meets_conditions(compiled[i].report, lock)) code = exit_require;
  }
  return code;
}

Result<int> run_lower(const LowerArguments& arguments, Compiler& compiler) {
  DEPUTE_TRY(CompileOptions options, read_arguments(arguments));
  // Static, because freeing all nodes at the end would only take time.
  static std::vector<Compiled> compiled;
  std::vector<std::string> names;
  if (arguments.request.targets.empty()) {
    DEPUTE_TRY(Compiled only, run_request(arguments.request, options, compiler));
    compiled.push_back(std::move(only));
  } else {
    DEPUTE_TRY(std::vector<Target> targets, read_targets(arguments.request, options));
    for (const Target& target : targets) names.push_back(target.name);
    DEPUTE_TRY(compiled, run_request(arguments.request, options, std::move(targets), compiler));
  }
  DEPUTE_TRY(const std::string recipes, recipe_lines(arguments.request, compiler.registry()));
  return tell(arguments, options, compiled, names, recipes);
}

std::vector<Option> lower_options(LowerArguments& arguments) {
  return joined(
      request_options(arguments.request),
      {
          plan_option(arguments.request),
          target_option(arguments.request),
          {"-o,--output", &arguments.output,
           "The .pte file to write, or - for standard output; default: MODEL with the ending .pte, or .bpte",
           "FILE"},
          {"--ptd", &arguments.ptd,
           "[PATTERN=]FILE[:max=SIZE]: put constants and named data of delegates (all, or those that match) "
           "into a separate file, or into several of at most this size",
           "FILE"},
          {"--bundle", &arguments.bundle,
           "[METHOD=]FILE.npz: write a bundled program (.bpte) with this test case: arrays for the inputs, "
           "in "
           "order. Each FILE is a test case",
           "FILE.npz"},
          {"--bundle-expected", &arguments.bundle_expected,
           "Expected outputs of each --bundle; by default the reference kernels compute them", "FILE.npz"},
          {"--segment-alignment", &arguments.segment_alignment,
           "Alignment of segments in the file, in bytes (a power of two); default: 128", "BYTES"},
          {"--delegate-alignment", &arguments.delegate_alignment,
           "Alignment of the payloads of delegates, in bytes (a power of two); default: 16", "BYTES"},
          {"--constant-alignment", &arguments.constant_alignment,
           "Alignment of constants in the file, in bytes (a power of two); default: 16", "BYTES"},
          {"--inline-delegates", &arguments.inline_delegates,
           "Put the payloads of delegates into the flatbuffer instead of segments"},
          {"--alloc-inputs", &arguments.alloc_inputs,
           "Plan memory for inputs (default: yes); with =no the caller provides it"},
          {"--alloc-outputs", &arguments.alloc_outputs,
           "Plan memory for outputs (default: yes); with =no the caller provides it"},
          {"--stack-traces", &arguments.stack_traces,
           "Also write the line of the model of each instruction into the program"},
          {"--alloc-state", &arguments.alloc_state,
           "Plan memory for buffers that are kept between calls (default: yes); with =no the caller provides "
           "it"},
          {.names = "--memory",
           .target = &arguments.memory,
           .help =
               "NAME=SIZE:ID[:align=BYTES],...: distribute planned memory to banks, the fastest first, for "
               "example sram=512K:1,dram=8M:2",
           .value = "BANKS"},
          {.names = "--memory-pin",
           .target = &arguments.memory_pins,
           .help = "BANK=SELECTOR: put the results of nodes into one bank, for example sram=features.0 or "
                   "dram=node:mask",
           .value = "BANK=SELECTOR"},
          {"--debug-map", &arguments.debug_map,
           "Also write a map from instructions to source lines of the model, for depute profile", "FILE"},
          {"--etrecord", &arguments.etrecord,
           "Also write an ETRecord, with which ExecuTorch's Inspector joins a trace with the model", "FILE"},
          {"--stand-ins", &arguments.stand_ins,
           "Also write what the delegates compute, for depute run --stand-ins where their hardware is not "
           "there",
           "FILE"},
          {"--require", &arguments.require,
           "Fail with exit code 3 unless the conditions hold: \"coverage>=95%,memory<=4M\" (docs/cli.md)",
           "CONDITIONS"},
          {"--lock", &arguments.lock,
           "Fail with exit code 3 if partitioning differs from this lock file (--lock-update writes it)",
           "FILE"},
          {"--lock-update", &arguments.lock_update, "Write the lock file instead of comparing with it"},
          color_option(arguments.color),
          {"--quiet", &arguments.quiet, "Print only errors"},
          {.names = "--verbose",
           .target = &arguments.verbose,
           .help = "List all kinds of undelegated nodes",
           .excludes = "--quiet"},
      });
}

}  // namespace

Command lower_command(Compiler& compiler) {
  return make_command<LowerArguments>(
      "lower", "Compile a program to a .pte file", lower_options,
      [&compiler](const LowerArguments& arguments) { return run_lower(arguments, compiler); });
}

}  // namespace depute
