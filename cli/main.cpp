// The command line: chooses the subcommand, and turns what goes wrong into messages and exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/memory.h"
#include "compile.h"
#include "support/guarded.h"
#include "support/temporary_file.h"

namespace depute {

namespace {

// What the user named may hold anything; a message keeps to its lines and leaves the terminal alone.
std::string printable(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool is_control = static_cast<unsigned char>(c) < ' ' || c == 127;
    if (c == '\n') {
      result += "\\n";
    } else if (is_control) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

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

bool is_terminal() {
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

int report_failure(const Diagnostic& diagnostic) {
  return diagnostic.code == "usage" ? report_usage(diagnostic) : report_error(diagnostic);
}

int print_out(const std::string& text) {
  return print_to(stdout, text);
}

int print_to(std::FILE* stream, const std::string& text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
  if (written) return exit_done;
  return report_error({.code = "write",
                       .where = stream == stdout ? "standard output" : "standard error",
                       .message = std::strerror(errno),
                       .hint = {},
                       .source = {}});
}

}  // namespace depute

namespace {

// The first word that is no option has to be a subcommand; CLI11 would only say that it misses one.
std::optional<depute::Diagnostic> find_unknown_command(const CLI::App& app, std::span<char*> words) {
  auto is_option = [](std::string_view word) { return word.starts_with('-'); };
  auto word = std::ranges::find_if_not(words, is_option);
  if (word == words.end()) return std::nullopt;
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == *word) return std::nullopt;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return depute::Diagnostic{.code = "usage",
                            .where = {},
                            .message = fmt::format("there is no command '{}'", *word),
                            .hint = fmt::format("the commands are {}", names),
                            .source = {}};
}

int run(int argc, char** argv) {
  depute::Registry registry = depute::make_registry();
  CLI::App app("Lowers PyTorch exported programs (.pt2) to ExecuTorch programs (.pte).", "depute");
  app.set_version_flag("--version", depute::version());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  std::vector<std::pair<CLI::App*, depute::Command>> commands;
  auto add = [&](const char* name, const char* text, auto&& add_options) {
    CLI::App* command = app.add_subcommand(name, text);
    commands.emplace_back(command, add_options(*command));
  };
  add("lower", "Compile a program to a .pte file",
      [&](CLI::App& c) { return add_lower_command(c, registry); });
  add("explain", "Tell for each node why it is or is not delegated",
      [&](CLI::App& c) { return add_explain_command(c, registry); });
  add("show", "Print a .pt2, .pte or .ir file as text",
      [&](CLI::App& c) { return depute::add_show_command(c); });
  add("backends", "List the backends, or what one of them supports",
      [&](CLI::App& c) { return add_backends_command(c, registry); });
  if (auto unknown = find_unknown_command(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1)))
    return depute::report_usage(*unknown);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& failure) {
    return depute::report_usage({.code = "usage",
                                 .where = {},
                                 .message = failure.what(),
                                 .hint = "`depute --help` and `depute COMMAND --help` list the options",
                                 .source = {}});
  }
  for (const auto& [command, action] : commands) {
    if (command->parsed()) return action();
  }
  return depute::exit_usage;
}

// A file that is opened must not get the number of a standard stream that is closed: what is printed would go
// into it. These stand-ins fail for who reads or writes them.
void fill_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != stream) std::_Exit(depute::exit_error);
  }
}

extern "C" void clean_up_and_end(int signal) {
  depute::remove_temporary_files();
  raise(signal);  // as it would have been without this handler
}

// A run that is stopped leaves no temporary files. What the caller ignores (nohup) stays ignored.
void clean_up_on_signals() {
  struct sigaction action{};
  action.sa_handler = clean_up_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction before{};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails instead
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  clean_up_on_signals();
  depute::set_up_memory();
  int code = depute::exit_error;
  try {
    code = run(argc, argv);
  } catch (const std::exception& exception) {
    depute::report_error(depute::diagnostic_of(exception));
  }
  // Output files are complete, and nobody needs the memory to be taken apart piece by piece.
  std::fflush(nullptr);
  std::_Exit(code);
}
