// depute doctor: lists all problems that prevent or degrade the lowering of a model, with fixes.
#include "cli/commands.h"
#include "cli/request.h"
#include "support/try.h"

namespace depute {
namespace {

struct DoctorArguments {
  RequestArguments request;
  std::uint64_t top = DoctorOptions().top;
  std::string color = "auto";
};

Result<int> run_doctor(const DoctorArguments& arguments, Compiler& compiler) {
  TRY(CompileOptions options, read_request(arguments.request));
  options.parts.advice = true;
  std::FILE* stream = writes_standard_output(options) ? stderr : stdout;
  TRY(const Compiled compiled, run_request(arguments.request, options, compiler));
  const DoctorOptions doctor{.top = arguments.top, .color = has_color(stream, arguments.color)};
  const int code = print_to(stream, doctor_text(compiled.report, doctor));
  return code == exit_done && !compiled.report.refusals.empty() ? exit_error : code;
}

std::vector<Option> doctor_options(DoctorArguments& arguments) {
  return joined(request_options(arguments.request),
                {top_option(arguments.top, "Causes and changes of each kind, by default 10; 0: all"),
                 color_option(arguments.color)});
}

}  // namespace

Command doctor_command(Compiler& compiler) {
  return make_command<DoctorArguments>(
      "doctor", "Tell all that keeps a model from being lowered, and what to change", doctor_options,
      [&compiler](const DoctorArguments& arguments) { return run_doctor(arguments, compiler); });
}

}  // namespace depute
