// depute replay and depute test-backend: repeat a failed request to a worker, and test a worker.
#include <fmt/format.h>

#include "cli/commands.h"
#include "depute/backend/serve_backend.h"
#include "depute/compiler/worker.h"

namespace depute {
namespace {

struct WorkerArguments {
  std::string name;     // name of the worker, or a folder
  std::string backend;  // worker that replays
  std::vector<std::string> models;
  int seconds = WorkerOptions().seconds;
  bool no_sandbox = false;

  WorkerOptions options() const { return {.seconds = seconds, .sandbox = !no_sandbox}; }
};

Option sandbox_option(WorkerArguments& arguments) {
  return {"--no-sandbox", &arguments.no_sandbox,
          "Let the program use the network, and write outside of its folder"};
}

Option time_option(WorkerArguments& arguments) {
  return {.names = "--worker-time",
          .target = &arguments.seconds,
          .help = "Time limit for each answer, in seconds; default: 600",
          .value = "SECONDS",
          .range = {{1, 1 << 20}}};
}

// Parses "exec:PATH", or finds the named worker on PATH.
Result<std::pair<std::string, std::string>> find_program(const std::string& name, std::string_view where) {
  DEPUTE_TRY(const BackendRequest request, parse_backend_argument(name));
  const std::string program = request.program.empty() ? find_worker(request.name) : request.program;
  if (!program.empty()) return std::pair(worker_name(program.c_str()), program);
  return failure("usage", where, fmt::format("there is no depute-backend-{} on PATH", name),
                 "use exec:PATH for a program elsewhere");
}

Result<int> run_replay(const WorkerArguments& arguments) {
  std::string program;
  if (!arguments.backend.empty()) {
    DEPUTE_TRY(const auto found, find_program(arguments.backend, "--backend"));
    program = found.second;
  }
  DEPUTE_TRY(const std::string answer,
             replay_worker(arguments.name, program, arguments.models, arguments.options()));
  return print_out(answer);
}

Result<int> run_test(const WorkerArguments& arguments) {
  DEPUTE_TRY(const auto tested, find_program(arguments.name, "NAME"));
  DEPUTE_TRY(const auto checks,
             test_worker(tested.first, tested.second, arguments.models, arguments.options()));
  int code = exit_done;
  for (const auto& [what, fault] : checks) {
    if (const int printed = print_out(fmt::format("{:<6} {}\n", fault ? "failed" : "ok", printable(what)));
        printed != exit_done)
      return printed;
    if (fault) code = report_error(*fault);
  }
  if (!arguments.models.empty() || code != exit_done) return code;
  return print_out("note   nothing was compiled: --model MODEL.pt2 also lowers a model with the backend\n");
}

std::vector<Option> replay_options(WorkerArguments& arguments) {
  return {{.names = "DIR",
           .target = &arguments.name,
           .help = "The folder that the error named",
           .is_required = true},
          {"--backend", &arguments.backend,
           "The program to run: NAME for depute-backend-NAME on PATH, or exec:PATH", "NAME"},
          {"--model", &arguments.models, "The model whose weights the program may read", "FILE"},
          time_option(arguments),
          sandbox_option(arguments)};
}

std::vector<Option> test_options(WorkerArguments& arguments) {
  return {{.names = "NAME",
           .target = &arguments.name,
           .help = "The backend: NAME for depute-backend-NAME on PATH, or exec:PATH",
           .is_required = true},
          {"--model", &arguments.models,
           "A .pt2 or .ir file to lower with it, twice and with several processes", "FILE"},
          time_option(arguments),
          sandbox_option(arguments)};
}

}  // namespace

Command replay_command() {
  return make_command<WorkerArguments>("replay", "Repeat a request at which a backend program failed",
                                       replay_options, run_replay);
}

Command test_backend_command() {
  return make_command<WorkerArguments>("test-backend", "Test a backend that is a separate program",
                                       test_options, run_test);
}

}  // namespace depute
