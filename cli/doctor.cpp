// depute doctor: all that keeps a model from being lowered, or lowered well, with what to change.
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"

namespace depute {
namespace {

int run_doctor(const RequestArguments& arguments, Compiler& compiler) {
  Result<CompileOptions> options = read_request(arguments);
  if (!options) return report_usage(options.error());
  options->lower.tell_page_facts = true;  // for its advice
  std::FILE* stream = writes_standard_output(*options) ? stderr : stdout;
  Result<Compiled> compiled = run_request(arguments, *options, compiler);
  if (!compiled) return report_failure(compiled.error());
  const int code = print_to(stream, doctor_text(compiled->report, stream == stdout && is_terminal()));
  return code == exit_done && !compiled->report.refusals.empty() ? exit_error : code;
}

}  // namespace

Command doctor_command(Compiler& compiler) {
  auto arguments = std::make_shared<RequestArguments>();
  return {.name = "doctor",
          .help = "Tell all that keeps a model from being lowered, and what to change",
          .options = [arguments] { return request_options(*arguments); },
          .run = [arguments, &compiler] { return run_doctor(*arguments, compiler); }};
}

}  // namespace depute
