// depute doctor: lists all problems that prevent or degrade the lowering of a model, with fixes.
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"

namespace depute {
namespace {

struct DoctorArguments {
  RequestArguments request;
  int top = static_cast<int>(DoctorOptions().top);
  std::string color = "auto";
};

int run_doctor(const DoctorArguments& arguments, Compiler& compiler) {
  Result<CompileOptions> options = read_request(arguments.request);
  if (!options) return report_usage(options.error());
  options->parts.advice = true;
  std::FILE* stream = writes_standard_output(*options) ? stderr : stdout;
  Result<Compiled> compiled = run_request(arguments.request, *options, compiler);
  if (!compiled) return report_failure(compiled.error());
  const DoctorOptions doctor{.top = static_cast<std::size_t>(arguments.top),
                             .color = has_color(stream, arguments.color)};
  const int code = print_to(stream, doctor_text(compiled->report, doctor));
  return code == exit_done && !compiled->report.refusals.empty() ? exit_error : code;
}

std::vector<Option> doctor_options(DoctorArguments& arguments) {
  std::vector<Option> options = request_options(arguments.request);
  options.push_back({.names = "--top",
                     .target = &arguments.top,
                     .help = "Causes and changes of each kind, by default 10; 0: all",
                     .value = "N",
                     .range = {{0, std::numeric_limits<int>::max()}}});
  options.push_back(color_option(arguments.color));
  return options;
}

}  // namespace

Command doctor_command(Compiler& compiler) {
  auto arguments = std::make_shared<DoctorArguments>();
  return {.name = "doctor",
          .help = "Tell all that keeps a model from being lowered, and what to change",
          .options = [arguments] { return doctor_options(*arguments); },
          .run = [arguments, &compiler] { return run_doctor(*arguments, compiler); }};
}

}  // namespace depute
