// depute run: executes a .pte in ExecuTorch's runtime, and tells results, times and memory. `depute` checks its options, then
// becomes depute-run (runner.h), which does what they ask.
//
//   depute run model.pte --inputs x.npz --outputs y.npz --repeat 20
//   depute run model.bpte                                              exit code 3 if a test case is wrong
#include <fmt/format.h>

#include <limits>

#include "cli/commands.h"
#include "depute/tools/bundle.h"
#include "depute/tools/profile.h"
#include "kernels/tensors.h"
#include "read/npz.h"
#include "read/pte.h"
#include "support/mapped_file.h"
#include "support/number_text.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/bundle/check_case.h"
#include "tools/bundle/program_part.h"
#include "tools/run/run.h"
#include "tools/run/runner.h"
#include "tools/run/stand_ins.h"
#include "write/write_npz.h"

namespace depute {
namespace {

struct RunArguments {
  std::string program;
  std::vector<std::string> inputs;
  std::string method;
  std::string outputs;
  std::vector<std::string> ptd;
  std::vector<std::string> plugins;
  std::string stand_ins;
  std::vector<std::string> stand_in;
  std::string runtime;
  std::string etdump;
  std::string debug_buffer;
  std::string debug_map;
  std::string rtol;
  std::string atol;
  std::string color = "auto";
  std::uint64_t repeat = 1;
  std::uint64_t top = 10;
  int threads = 0;
  bool is_random = false;
  bool has_profile = false;
  bool json = false;
};

constexpr int max_threads = 1024;

std::vector<Option> run_options(RunArguments& arguments) {
  return {
      {.names = "PROGRAM",
       .target = &arguments.program,
       .help = "The program to execute, .pte; or .bpte, whose test cases are executed and checked",
       .is_required = true},
      {"--inputs", &arguments.inputs,
       "Arrays for the inputs, in order. Each FILE is a call; state is kept from call to call", "FILE.npz"},
      {.names = "--random",
       .target = &arguments.is_random,
       .help = "One call with random inputs, the same each time; open sizes have their upper bounds",
       .excludes = "--inputs"},
      {"--method", &arguments.method, "Which one to execute, if the program has several", "NAME"},
      {.names = "--rtol",
       .target = &arguments.rtol,
       .help = "Accepted difference of a test case's output, relative to it; by default 1e-05",
       .value = "NUMBER",
       .excludes = "--inputs"},
      {.names = "--atol",
       .target = &arguments.atol,
       .help = "Accepted difference besides; by default 1e-08",
       .value = "NUMBER",
       .excludes = "--inputs"},
      {"--outputs", &arguments.outputs, "Write the results", "FILE.npz"},
      {.names = "--repeat",
       .target = &arguments.repeat,
       .help = "Make all calls N times, for their times; results are those of the first time. 0: load only",
       .value = "N",
       .range = {{0, std::numeric_limits<int>::max()}}},
      {.names = "--threads",
       .target = &arguments.threads,
       .help = "Threads of the runtime, which otherwise chooses",
       .value = "N",
       .range = {{1, max_threads}}},
      {"--ptd", &arguments.ptd, "A file with constants that the program refers to", "FILE.ptd"},
      {"--plugin", &arguments.plugins, "Load a library that registers a backend or kernels first", "FILE.so"},
      {"--stand-ins", &arguments.stand_ins,
       "What `depute lower --stand-ins` wrote: delegates for backends that the runtime lacks are executed by "
       "the reference kernels",
       "FILE"},
      {"--stand-in", &arguments.stand_in, "Do so for this backend, by the id that the .pte names", "ID"},
      {"--profile", &arguments.has_profile, "Also tell where the time goes, as `depute profile` does"},
      {"--debug-map", &arguments.debug_map,
       "What `depute lower --debug-map` wrote, for --profile by lines of the model", "FILE"},
      {"--etdump", &arguments.etdump, "Write the runtime's trace", "FILE.etdp"},
      {"--debug-buffer", &arguments.debug_buffer,
       "Trace what each instruction computes, too, and write it, for `depute profile`", "FILE"},
      runtime_option(arguments.runtime),
      top_option(arguments.top, "Rows of each table of --profile, by default 10; 0: all"),
      color_option(arguments.color),
      {.names = "--json", .target = &arguments.json, .help = "As JSON", .excludes = "--profile"},
  };
}

Result<std::vector<RunCall>> calls_of(const RunArguments& arguments, const ExecutionPlan& method) {
  std::vector<RunCall> calls;
  if (arguments.repeat == 0) return calls;
  for (const std::string& file : arguments.inputs) {
    TRY(const NamedArrays arrays, read_npz(file));
    TRY(RunCall call, call_of_arrays(method, arrays, file));
    calls.push_back(std::move(call));
  }
  if (!calls.empty()) return calls;
  if (!arguments.is_random && !method.inputs.empty())
    return failure("usage", "", fmt::format("{} has inputs", signature(method)),
                   "give --inputs FILE.npz or --random");
  TRY(RunCall call, random_call(method));
  calls.push_back(std::move(call));
  return calls;
}

// The file to execute. Of a bundled program without other inputs, the test cases are executed.
struct RunnableFile {
  std::shared_ptr<const MappedFile> file;
  std::span<const std::byte> bytes;  // the .pte
  PteContents pte;
  bool has_cases = false;
  std::vector<TestCase> cases;

  std::vector<TestCase> cases_of(const std::string& method) const {
    std::vector<TestCase> found;
    std::ranges::copy_if(cases, std::back_inserter(found),
                         [&](const TestCase& test) { return test.method == method; });
    return found;
  }
};

Result<RunnableFile> open_program(const RunArguments& arguments) {
  RunnableFile program;
  TRY(program.file, open_input(arguments.program));
  TRY(program.bytes, program_part(program.file->bytes(), arguments.program));
  TRY(program.pte, read_pte(program.bytes, arguments.program));
  program.has_cases = is_bundle(program.file->bytes()) && arguments.inputs.empty() && !arguments.is_random;
  if (program.has_cases) {
    TRY(Bundle bundle, read_bundle(program.file->bytes(), arguments.program));
    program.cases = std::move(bundle.cases);
  } else if (!arguments.rtol.empty() || !arguments.atol.empty()) {
    return failure("usage", arguments.rtol.empty() ? "--atol" : "--rtol",
                   "it is for the test cases of a bundled program (.bpte)");
  }
  return program;
}

// The methods to execute: the one that is named, or all with test cases.
Result<std::vector<const ExecutionPlan*>> methods_of(const RunArguments& arguments,
                                                     const RunnableFile& program) {
  if (!program.has_cases || !arguments.method.empty()) {
    TRY(const ExecutionPlan* method, find_method(program.pte, arguments.method));
    if (!program.has_cases || !program.cases_of(method->name).empty()) return std::vector{method};
    return failure("usage", "--method", fmt::format("the bundle has no test cases of {}", method->name),
                   "give --inputs FILE.npz or --random");
  }
  std::vector<const ExecutionPlan*> methods;
  for (const ExecutionPlan& method : program.pte.methods)
    if (!program.cases_of(method.name).empty()) methods.push_back(&method);
  if (methods.empty())
    return failure("usage", "", fmt::format("{} has no test cases", arguments.program),
                   "give --inputs FILE.npz or --random");
  const bool is_for_one = arguments.json || arguments.has_profile || !arguments.outputs.empty() ||
                          !arguments.etdump.empty();  // of --debug-buffer, too, which needs one of them
  if (methods.size() == 1 || !is_for_one) return methods;
  return failure("usage", "--method", "the bundle has test cases of several methods",
                 "name the one for --json, --outputs, --etdump or --profile");
}

// The test cases as the method takes them: those of a file need not fit.
Result<std::vector<TestCase>> fitting_cases(const RunnableFile& program, const ExecutionPlan& method) {
  std::vector<TestCase> cases = program.cases_of(method.name);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    TRY(cases[i], fitting_case(method, cases[i], fmt::format("test case {} of {}", i, method.name)));
  }
  return cases;
}

Result<RunRequest> request_of(const RunArguments& arguments, const RunnableFile& program,
                              const ExecutionPlan& method, std::span<const TestCase> cases) {
  RunRequest request{.program = program.bytes,
                     .name = arguments.program,
                     .method = method.name,
                     .data_files = arguments.ptd,
                     .plugins = arguments.plugins,
                     .loads_anew = program.has_cases,
                     .repeat = arguments.repeat,
                     .threads = arguments.threads,
                     .is_traced = arguments.has_profile || !arguments.etdump.empty(),
                     .traces_values = !arguments.debug_buffer.empty()};
  if (!arguments.stand_ins.empty()) {
    TRY(request.originals, read_stand_ins(arguments.stand_ins, method.name, method.delegates.size()));
    request.stand_ins = arguments.stand_in;
  }
  if (!program.has_cases) {
    TRY(request.calls, calls_of(arguments, method));
  } else if (arguments.repeat > 0) {
    for (const TestCase& test : cases) request.calls.push_back(test.inputs);
  }
  return request;
}

Status write_outputs(const RunArguments& arguments, const RunResult& result, OutputSet& outputs) {
  if (!arguments.outputs.empty()) {
    TRY(const std::unique_ptr<Output> file, outputs.open(arguments.outputs));
    TRY_STATUS(write_npz(for_numpy(result_arrays(result)), *file));
    TRY_STATUS(file->commit());
  }
  const auto write = [&](const std::string& path, std::span<const std::byte> bytes) -> Status {
    if (path.empty()) return {};
    return outputs.write(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  TRY_STATUS(write(arguments.etdump, result.dump));
  TRY_STATUS(write(arguments.debug_buffer, result.values));
  return outputs.put_in_place();
}

Result<std::string> profile_of_run(const RunArguments& arguments, const RunResult& result,
                                   std::span<const std::byte> program, bool color) {
  ProfileInputs inputs{.dump = result.dump,
                       .dump_name = "the trace",
                       .map_name = arguments.debug_map,
                       .program = program,
                       .program_name = arguments.program,
                       .method = result.method};
  if (!arguments.debug_buffer.empty()) {
    inputs.values = Storage::owned(result.values);
    inputs.values_name = "the debug buffer";
  }
  std::shared_ptr<const MappedFile> map;
  if (!arguments.debug_map.empty()) {
    TRY(map, open_input(arguments.debug_map));
    inputs.map = map->bytes();
  }
  TRY(const Profile profile, profile_of(inputs));
  return profile_text(profile, arguments.top, color);
}

Status reserve_files(const RunArguments& arguments, OutputSet& outputs) {
  for (const std::string& input : {arguments.program, arguments.debug_map, arguments.stand_ins}) {
    if (!input.empty()) outputs.add_input(input);
  }
  for (const auto* inputs : {&arguments.inputs, &arguments.ptd, &arguments.plugins}) {
    for (const std::string& input : *inputs) outputs.add_input(input);
  }
  if (!arguments.outputs.empty()) TRY_STATUS(outputs.reserve("--outputs", arguments.outputs));
  if (!arguments.etdump.empty()) TRY_STATUS(outputs.reserve("--etdump", arguments.etdump));
  if (!arguments.debug_buffer.empty()) TRY_STATUS(outputs.reserve("--debug-buffer", arguments.debug_buffer));
  return {};
}

Result<CaseTolerance> tolerance_of(const RunArguments& arguments) {
  CaseTolerance tolerance;
  if (!arguments.rtol.empty()) {
    TRY(tolerance.rtol, parse_tolerance("--rtol", arguments.rtol));
  }
  if (!arguments.atol.empty()) {
    TRY(tolerance.atol, parse_tolerance("--atol", arguments.atol));
  }
  return tolerance;
}

// Test cases that are checked, and those of them that are right.
struct Score {
  std::size_t checked = 0;
  std::size_t right = 0;
};

void check_cases(RunResult& result, std::span<const TestCase> cases, const CaseTolerance& tolerance,
                 Score& score) {
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    std::vector<OutputError>& verdicts = result.verdicts.emplace_back();
    if (cases[i].expected.empty()) continue;
    verdicts = check_case(cases[i], result.outputs[i], tolerance);
    ++score.checked;
    score.right += std::ranges::all_of(verdicts, &OutputError::is_right) ? 1U : 0U;
  }
}

Result<int> run(const RunArguments& arguments, const RunProgram& run_program) {
  if (!arguments.debug_map.empty() && !arguments.has_profile)
    return failure("usage", "--debug-map", "it is for --profile, which is not given");
  if (!arguments.debug_buffer.empty() && arguments.etdump.empty() && !arguments.has_profile)
    return failure("usage", "--debug-buffer",
                   "it needs --etdump FILE or --profile, which tell what lies where");
  if (!arguments.stand_in.empty() && arguments.stand_ins.empty())
    return failure("usage", "--stand-in",
                   "it needs --stand-ins FILE, which `depute lower --stand-ins` writes");
  TRY(const CaseTolerance tolerance, tolerance_of(arguments));
  OutputSet outputs;
  TRY_STATUS(reserve_files(arguments, outputs));
  TRY(const RunnableFile program, open_program(arguments));
  TRY(const std::vector<const ExecutionPlan*> methods, methods_of(arguments, program));
  const bool is_taken = std::ranges::any_of(
      std::initializer_list<std::string>{arguments.outputs, arguments.etdump, arguments.debug_buffer},
      is_standard_output);
  std::FILE* stream = is_taken ? stderr : stdout;
  const bool color = has_color(stream, arguments.color);
  std::string text;
  Score score;
  for (const ExecutionPlan* method : methods) {
    TRY(const std::vector<TestCase> cases, fitting_cases(program, *method));
    TRY(const RunRequest request, request_of(arguments, program, *method, cases));
    TRY(RunResult result, run_program(request, *method));
    if (program.has_cases) check_cases(result, cases, tolerance, score);
    text += arguments.json ? run_json(result) : run_text(result, color);
    if (arguments.has_profile) {
      TRY(const std::string profile, profile_of_run(arguments, result, program.bytes, color));
      text += profile;
    }
    if (methods.size() == 1) TRY_STATUS(write_outputs(arguments, result, outputs));
  }
  if (score.checked > 0 && !arguments.json)
    text += fmt::format("{} of {} within rtol {}, atol {}\n", score.right, plural(score.checked, "test case"),
                        tolerance.rtol, tolerance.atol);
  const int printed = print_to(stream, text);
  if (printed != exit_done) return printed;
  return score.right == score.checked ? exit_done : exit_require;
}

Command make_run_command(std::function<Result<int>(const RunArguments&)> execute) {
  return make_command<RunArguments>("run", "Execute a .pte in ExecuTorch's runtime: results, times, memory",
                                    run_options, std::move(execute));
}

}  // namespace

Command run_command(std::span<char*> words) {
  return make_run_command(
      [words](const RunArguments& arguments) { return become_runner(arguments.runtime, words); });
}

Command run_command(RunProgram run_program) {
  return make_run_command(
      [run_program](const RunArguments& arguments) { return run(arguments, run_program); });
}

}  // namespace depute
