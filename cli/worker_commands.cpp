// depute replay and depute test-backend: repeat a failed request to a worker, and test a worker.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "depute/backend/serve_backend.h"
#include "depute/compiler/worker.h"

namespace depute {
namespace {

struct WorkerArguments {
  std::string name;  // name of the worker, or a folder
  std::vector<std::string> models;
  int seconds = WorkerOptions().seconds;
};

std::vector<Option> time_option(WorkerArguments& arguments) {
  return {{.names = "--worker-time",
           .target = &arguments.seconds,
           .help = "Time limit for each answer, in seconds; default: 600",
           .value = "SECONDS",
           .range = {{1, 1 << 20}}}};
}

int run_replay(const WorkerArguments& arguments) {
  const Result<std::string> answer = replay_worker(arguments.name, {.seconds = arguments.seconds});
  return answer ? print_out(*answer) : report_error(answer.error());
}

// Parses "exec:PATH", or finds the named worker on PATH.
Result<std::pair<std::string, std::string>> find_tested(const std::string& name) {
  DEPUTE_TRY(const BackendRequest request, parse_backend_argument(name));
  const std::string program = request.program.empty() ? find_worker(request.name) : request.program;
  if (!program.empty()) return std::pair(worker_name(program.c_str()), program);
  return failure("usage", "NAME", fmt::format("there is no depute-backend-{} on PATH", name),
                 "use exec:PATH for a program elsewhere");
}

int run_test(const WorkerArguments& arguments) {
  const auto tested = find_tested(arguments.name);
  if (!tested) return report_failure(tested.error());
  const auto checks =
      test_worker(tested->first, tested->second, arguments.models, {.seconds = arguments.seconds});
  if (!checks) return report_failure(checks.error());
  int code = exit_done;
  for (const auto& [what, fault] : *checks) {
    if (const int printed = print_out(fmt::format("{:<6} {}\n", fault ? "failed" : "ok", what));
        printed != exit_done)
      return printed;
    if (fault) code = report_error(*fault);
  }
  return code;
}

}  // namespace

Command replay_command() {
  auto arguments = std::make_shared<WorkerArguments>();
  return {.name = "replay",
          .help = "Repeat a request at which a backend program failed",
          .options =
              [arguments] {
                std::vector<Option> options = time_option(*arguments);
                options.insert(options.begin(), {.names = "DIR",
                                                 .target = &arguments->name,
                                                 .help = "The folder named in the error",
                                                 .is_required = true});
                return options;
              },
          .run = [arguments] { return run_replay(*arguments); }};
}

Command test_backend_command() {
  auto arguments = std::make_shared<WorkerArguments>();
  return {.name = "test-backend",
          .help = "Test a backend that is a separate program",
          .options =
              [arguments] {
                std::vector<Option> options = {
                    {.names = "NAME",
                     .target = &arguments->name,
                     .help = "The backend: NAME for depute-backend-NAME on PATH, or exec:PATH",
                     .is_required = true},
                    {.names = "--model",
                     .target = &arguments->models,
                     .help = "A .pt2 or .ir file to lower with it, twice and with several processes",
                     .value = "FILE"}};
                for (Option& option : time_option(*arguments)) options.push_back(std::move(option));
                return options;
              },
          .run = [arguments] { return run_test(*arguments); }};
}

}  // namespace depute
