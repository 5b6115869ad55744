// depute run: executes a .pte in ExecuTorch's runtime, and tells results, times and memory. `depute` checks its options, then
// becomes depute-run (runner.h), which does what they ask.
//
//   depute run model.pte --inputs x.npz --outputs y.npz --repeat 20
#include <fmt/format.h>

#include <limits>

#include "cli/commands.h"
#include "depute/tools/profile.h"
#include "kernels/tensors.h"
#include "read/npz.h"
#include "read/pte.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
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
  std::string debug_map;
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
       .help = "The program to execute, .pte",
       .is_required = true},
      {"--inputs", &arguments.inputs,
       "Arrays for the inputs, in order. Each FILE is a call; state is kept from call to call", "FILE.npz"},
      {.names = "--random",
       .target = &arguments.is_random,
       .help = "One call with random inputs, the same each time; open sizes have their upper bounds",
       .excludes = "--inputs"},
      {"--method", &arguments.method, "Which one to execute, if the program has several", "NAME"},
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

Result<RunRequest> request_of(const RunArguments& arguments, std::span<const std::byte> program,
                              const ExecutionPlan& method) {
  RunRequest request{.program = program,
                     .name = arguments.program,
                     .method = method.name,
                     .data_files = arguments.ptd,
                     .plugins = arguments.plugins,
                     .repeat = arguments.repeat,
                     .threads = arguments.threads,
                     .is_traced = arguments.has_profile || !arguments.etdump.empty()};
  if (!arguments.stand_ins.empty()) {
    TRY(request.originals, read_stand_ins(arguments.stand_ins, method.name, method.delegates.size()));
    request.stand_ins = arguments.stand_in;
  }
  TRY(request.calls, calls_of(arguments, method));
  return request;
}

Status write_outputs(const RunArguments& arguments, const RunResult& result, OutputSet& outputs) {
  if (!arguments.outputs.empty()) {
    TRY(const std::unique_ptr<Output> file, outputs.open(arguments.outputs));
    TRY_STATUS(write_npz(for_numpy(result_arrays(result)), *file));
    TRY_STATUS(file->commit());
  }
  if (!arguments.etdump.empty()) {
    const std::string_view dump(reinterpret_cast<const char*>(result.dump.data()), result.dump.size());
    TRY_STATUS(outputs.write(arguments.etdump, dump));
  }
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
  std::shared_ptr<const MappedFile> map;
  if (!arguments.debug_map.empty()) {
    TRY(map, open_input(arguments.debug_map));
    inputs.map = map->bytes();
  }
  TRY(const Profile profile, profile_of(inputs));
  return profile_text(profile, arguments.top, color);
}

Result<int> run(const RunArguments& arguments, const RunProgram& run_program) {
  if (!arguments.debug_map.empty() && !arguments.has_profile)
    return failure("usage", "--debug-map", "it is for --profile, which is not given");
  if (!arguments.stand_in.empty() && arguments.stand_ins.empty())
    return failure("usage", "--stand-in",
                   "it needs --stand-ins FILE, which `depute lower --stand-ins` writes");
  OutputSet outputs;
  for (const std::string& input : {arguments.program, arguments.debug_map, arguments.stand_ins}) {
    if (!input.empty()) outputs.add_input(input);
  }
  for (const auto* inputs : {&arguments.inputs, &arguments.ptd, &arguments.plugins}) {
    for (const std::string& input : *inputs) outputs.add_input(input);
  }
  if (!arguments.outputs.empty()) TRY_STATUS(outputs.reserve("--outputs", arguments.outputs));
  if (!arguments.etdump.empty()) TRY_STATUS(outputs.reserve("--etdump", arguments.etdump));
  TRY(const std::shared_ptr<const MappedFile> file, open_input(arguments.program));
  TRY(const PteContents pte, read_pte(file->bytes(), arguments.program));
  TRY(const ExecutionPlan* method, find_method(pte, arguments.method));
  TRY(const RunRequest request, request_of(arguments, file->bytes(), *method));
  TRY(const RunResult result, run_program(request, *method));
  std::FILE* stream =
      is_standard_output(arguments.outputs) || is_standard_output(arguments.etdump) ? stderr : stdout;
  const bool color = has_color(stream, arguments.color);
  std::string text = arguments.json ? run_json(result) : run_text(result, color);
  if (arguments.has_profile) {
    TRY(const std::string profile, profile_of_run(arguments, result, file->bytes(), color));
    text += profile;
  }
  TRY_STATUS(write_outputs(arguments, result, outputs));
  return print_to(stream, text);
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
