// depute lower: compiles a .pt2 to a .pte, with a report.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"

namespace depute {
namespace {

struct LowerArguments {
  RequestArguments request;
  std::string output;
  std::vector<std::string> ptd;
  std::string debug_map;
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
  std::string color = "auto";
  bool quiet = false;
  bool verbose = false;
};

Result<std::string> default_output(const CompileOptions& options) {
  const std::string& first = options.input.empty() ? options.methods[0].second : options.input;
  if (first == "-") return failure("usage", "-o", "a model from standard input needs -o FILE");
  std::string output = std::filesystem::path(first).replace_extension(".pte").string();
  if (output != first) return output;
  return failure("usage", "MODEL", fmt::format("'{}' is the name of an output file", first),
                 "give the .pt2 file that it was lowered from, or another output with -o");
}

// Parses "FILE.ptd" or "PATTERN=FILE.ptd".
Result<DataFile> parse_ptd_argument(const std::string& text) {
  const std::size_t equals = text.find('=');
  DataFile file;
  if (equals != std::string::npos) file.pattern = text.substr(0, equals);
  file.path = text.substr(equals == std::string::npos ? 0 : equals + 1);
  if (file.pattern.empty())
    return failure("usage", "--ptd", fmt::format("'{}' must have the form PATTERN=FILE.ptd", text));
  if (!file.path.ends_with(".ptd"))
    return failure("usage", "--ptd", fmt::format("'{}' is not the name of a .ptd file", file.path));
  return file;
}

Result<CompileOptions> read_arguments(const LowerArguments& arguments) {
  DEPUTE_TRY(CompileOptions options, read_request(arguments.request));
  DEPUTE_TRY(options.requirements, parse_requirements(arguments.require));
  options.output = arguments.output;
  if (options.output.empty()) {
    DEPUTE_TRY(options.output, default_output(options));
  }
  for (const std::string& text : arguments.ptd) {
    DEPUTE_TRY(DataFile file, parse_ptd_argument(text));
    options.ptd.push_back(std::move(file));
  }
  options.debug_map = arguments.debug_map;
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

Result<int> run_lower(const LowerArguments& arguments, Compiler& compiler) {
  DEPUTE_TRY(const CompileOptions options, read_arguments(arguments));
  // Static, because freeing all nodes at the end would only take time.
  static Result<Compiled> compiled = run_request(arguments.request, options, compiler);
  if (!compiled) return Failure(compiled.error());
  int code = exit_done;
  if (!arguments.quiet) {
    std::FILE* stream = writes_standard_output(options) ? stderr : stdout;
    code = print_to(stream,
                    summary_text(compiled->report, arguments.verbose, has_color(stream, arguments.color)));
  }
  return meets_conditions(compiled->report, options.lock) ? code : exit_require;
}

std::vector<Option> lower_options(LowerArguments& arguments) {
  return joined(
      request_options(arguments.request),
      {
          {"-o,--output", &arguments.output,
           "The .pte file to write, or - for standard output; default: MODEL with the ending .pte", "FILE"},
          {"--ptd", &arguments.ptd,
           "[PATTERN=]FILE: put constants and named data of delegates (all, or those that match) into a "
           "separate file",
           "FILE"},
          {"--segment-alignment", &arguments.segment_alignment,
           "Alignment of segments in the file, in bytes (a power of two); default: 128", "BYTES"},
          {"--delegate-alignment", &arguments.delegate_alignment,
           "Alignment of the payloads of delegates, in bytes (a power of two); default: 16", "BYTES"},
          {"--inline-delegates", &arguments.inline_delegates,
           "Put the payloads of delegates into the flatbuffer instead of segments"},
          {"--alloc-inputs", &arguments.alloc_inputs,
           "Plan memory for inputs (default: yes); with =no the caller provides it"},
          {"--alloc-outputs", &arguments.alloc_outputs,
           "Plan memory for outputs (default: yes); with =no the caller provides it"},
          {"--stack-traces", &arguments.stack_traces,
           "Also write the line of the model of each instruction into the program"},
          {"--debug-map", &arguments.debug_map,
           "Also write a map from instructions to source lines of the model, for depute profile", "FILE"},
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
