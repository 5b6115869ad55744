// The command line: chooses the subcommand, and turns what goes wrong into messages and exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
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
#include "cli/suggest.h"
#include "compile.h"
#include "support/guarded.h"
#include "support/printable.h"
#include "support/temporary_file.h"

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

bool is_terminal() {
  return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
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
  return error("write", stream == stdout ? "standard output" : "standard error", std::strerror(errno));
}

int print_to(std::FILE* stream, const std::string& text) {
  Status written = write_to(stream, text);
  return written ? exit_done : report_error(written.error());
}

}  // namespace depute

namespace {

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

depute::Diagnostic usage(std::string message, std::string hint) {
  return {.code = "usage", .where = {}, .message = std::move(message), .hint = std::move(hint), .source = {}};
}

// The first word that is no option has to be a subcommand; CLI11 would only say that it misses one.
std::optional<depute::Diagnostic> find_unknown_command(const CLI::App& app, std::span<char*> words) {
  auto is_option = [](std::string_view word) { return word.starts_with('-'); };
  auto word = std::ranges::find_if_not(words, is_option);
  if (word == words.end()) return std::nullopt;
  const std::vector<std::string> names = names_of_commands(app);
  auto is_command = [&](std::string_view text) { return std::ranges::find(names, text) != names.end(); };
  if (is_command(*word)) return std::nullopt;
  auto command = std::ranges::find_if(words, is_command);
  if (command != words.end() && word != words.begin()) {
    return usage(fmt::format("'{}' stands before the command", words.front()),
                 fmt::format("write `depute {} ...` and the options behind it", *command));
  }
  if (auto similar = depute::most_similar(*word, names)) {
    return usage(fmt::format("there is no command '{}'", *word), fmt::format("did you mean {}?", *similar));
  }
  return usage(fmt::format("there is no command '{}'", *word),
               fmt::format("the commands are {}", fmt::join(names, ", ")));
}

// What to do about arguments that a command does not take.
std::string hint_for(const CLI::App& app) {
  std::string hint = "`depute --help` and `depute COMMAND --help` list the options";
  for (const CLI::App* command : app.get_subcommands()) {
    hint = fmt::format("`depute {} --help` lists the options", command->get_name());
    std::vector<std::string> options;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
    for (const std::string& word : command->remaining()) {
      auto similar = depute::most_similar(word.substr(0, word.find('=')), options);
      if (similar) return fmt::format("did you mean {}?", *similar);
    }
  }
  return hint;
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
    return depute::report_usage(usage(failure.what(), hint_for(app)));
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
