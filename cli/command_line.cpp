// The process: its standard streams, signals and error output.
#include "depute/compiler/command_line.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <vector>

#include "cli/commands.h"
#include "depute/compiler/worker.h"
#include "depute/program/result.h"
#include "platform/signals.h"
#include "platform/standard_streams.h"

namespace depute {

int report_error(const Diagnostic& diagnostic) {
  std::string text = fmt::format("error[{}]: ", diagnostic.code);
  if (!diagnostic.where.empty()) text += printable(diagnostic.where) + ": ";
  text += printable(diagnostic.message) + "\n";
  if (!diagnostic.source.empty()) text += fmt::format("  at {}\n", printable(diagnostic.source));
  for (const std::string& detail : diagnostic.details) text += fmt::format("  {}\n", printable(detail));
  if (!diagnostic.hint.empty()) text += fmt::format("  help: {}\n", printable(diagnostic.hint));
  std::fputs(text.c_str(), stderr);
  return exit_error;
}

int report_usage(const Diagnostic& diagnostic) {
  report_error(diagnostic);
  return exit_usage;
}

Option color_option(std::string& choice) {
  return {.names = "--color",
          .target = &choice,
          .help = "auto (on a terminal, unless NO_COLOR is set), always or never",
          .value = "WHEN",
          .choices = {"auto", "always", "never"}};
}

Option runtime_option(std::string& folder) {
  return {"--runtime", &folder,
          "The folder of the Python package executorch, in place of the one it was built with", "DIR"};
}

Option top_option(std::uint64_t& top, std::string help, std::string excludes) {
  return {.names = "--top",
          .target = &top,
          .help = std::move(help),
          .value = "N",
          .range = {{0, std::numeric_limits<int>::max()}},
          .excludes = std::move(excludes)};
}

bool has_color(std::FILE* stream, const std::string& choice) {
  if (choice == "always" || choice == "never") return choice == "always";
  const char* unwanted = std::getenv("NO_COLOR");
  return platform::is_terminal(stream) && (unwanted == nullptr || *unwanted == '\0');
}

int report_failure(const Diagnostic& diagnostic) {
  return diagnostic.code == "usage" ? report_usage(diagnostic) : report_error(diagnostic);
}

int print_out(const std::string& text) {
  return print_to(stdout, text);
}

Status write_to(std::FILE* stream, const std::string& text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
  if (written) return {};
  if (errno == EPIPE)
    end_process(platform::closed_pipe_signal);  // as other programs do, when `head` has seen enough
  return failure("write", stream == stdout ? "standard output" : "standard error", std::strerror(errno));
}

int print_to(std::FILE* stream, const std::string& text) {
  Status written = write_to(stream, text);
  return written ? exit_done : report_error(written.error());
}

int run_command_line(int argc, char** argv, Compiler& compiler) {
  if (!platform::fill_standard_streams()) std::_Exit(exit_error);
  set_up_process();
  try {
    // argv may be empty: a process can be started without a name.
    const std::span<char*> all(argv, static_cast<std::size_t>(argc));
    const std::span<char*> words = all.subspan(all.empty() ? 0 : 1);
    std::vector<Command> commands = {
        lower_command(compiler),   explain_command(compiler),  doctor_command(compiler),
        show_command(compiler),    size_command(compiler),     diff_command(compiler),
        extract_command(compiler), graph_command(compiler),    payload_command(),
        check_command(compiler),   run_command(words),         tune_command(compiler),
        profile_command(),         backends_command(compiler), verify_command(words),
        replay_command(),          test_backend_command()};
    commands.push_back(completion_command(commands));
    commands.push_back(man_command(commands));
    const int code = run_words(words, commands);
    clean_up_process();  // ends idle workers here, because the compiler object is never destroyed
    return code;
  } catch (const std::exception& exception) {
    return report_error(diagnostic_of(exception));
  }
}

}  // namespace depute
