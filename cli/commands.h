// The subcommands of `depute` as data: their options, and a function to run. parse.cpp parses the command
// line with them; only parse.cpp depends on the parser library.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "depute/compiler/command_line.h"
#include "depute/program/result.h"

namespace depute {

struct RunRequest;  // tools/run/run.h
struct RunResult;
struct ExecutionPlan;

// An option and the target of its value. Flags have a bool, repeatable options a vector. Most options need
// only the first three or four members, which are written without their names.
struct Option {
  std::string names;  // "-o,--output", or "MODEL" for a positional argument
  std::variant<bool*, int*, std::uint64_t*, std::string*, std::vector<std::string>*> target;
  std::string help;
  std::string value = {};     // name of the value in the help: "FILE"
  bool may_be_empty = false;  // false: "" is rejected, since it usually comes from an empty shell variable
  bool is_required = false;
  std::optional<std::pair<int, int>> range = {};  // of a number, both ends included
  std::string excludes = {};                      // an earlier option that cannot be combined with this one
  std::vector<std::string> choices = {};          // all valid values
  std::vector<std::string> words = {};            // some valid values, for shell completion
  std::string words_from = {};  // command that prints valid values, as the first word of each line

  std::vector<std::string> spellings() const;  // "-o", "--output"
  bool is_flag() const;
  bool is_positional() const;
  std::string value_name() const;
};

struct Command {
  std::string name;
  std::string help;
  // called for the chosen command only, since options are slow to set up
  std::function<std::vector<Option>()> options;
  std::function<Result<int>()> run;  // returns the exit code
  bool takes_any_words = false;      // unknown words are allowed and ignored
};

// The options of both lists, in this order.
std::vector<Option> joined(std::vector<Option> first, std::vector<Option> second);

// A command whose options set the fields of `Arguments`.
template <typename Arguments>
Command make_command(std::string name, std::string help, std::vector<Option> (*options)(Arguments& arguments),
                     std::function<Result<int>(const Arguments& arguments)> run) {
  auto arguments = std::make_shared<Arguments>();
  return {.name = std::move(name),
          .help = std::move(help),
          .options = [options, arguments] { return options(*arguments); },
          .run = [run = std::move(run), arguments] { return run(*arguments); }};
}

Command lower_command(Compiler& compiler);
Command explain_command(Compiler& compiler);
Command doctor_command(Compiler& compiler);
Command show_command(const Compiler& compiler);
Command size_command(const Compiler& compiler);
Command diff_command(Compiler& compiler);
Command extract_command(Compiler& compiler);
Command graph_command(Compiler& compiler);
Command payload_command();
Command check_command(const Compiler& compiler);
Command tune_command(Compiler& compiler);
// Commands with two halves: in `depute` they check their options and replace this process by the program depute-run with these
// words, the command and its options; there they are executed with `run_program`.
Command run_command(std::span<char*> words);
Command verify_command(std::span<char*> words);
using RunProgram = Result<RunResult> (*)(const RunRequest& request, const ExecutionPlan& method);
Command run_command(RunProgram run_program);
Command verify_command(Compiler& compiler, RunProgram run_program);
Command profile_command();
Command backends_command(Compiler& compiler);
Command replay_command();
Command test_backend_command();
// These describe all commands; `commands` must outlive them.
Command completion_command(const std::vector<Command>& commands);
Command man_command(const std::vector<Command>& commands);

// Parses the words after the program's name and runs the chosen command. Returns its exit code.
int run_words(std::span<char*> words, std::span<const Command> commands);

// Prints "error[code]: where: message", the source line and the hint, to standard error.
int report_error(const Diagnostic& diagnostic);
// Like report_error(), but returns the exit code of a wrong command line.
int report_usage(const Diagnostic& diagnostic);

// --color: auto, always or never.
Option color_option(std::string& choice);
// --runtime: the folder of another package than depute-run was built with.
Option runtime_option(std::string& folder);
// --top: entries of each list; 0: all.
Option top_option(std::uint64_t& top, std::string help, std::string excludes = {});
// A number of 0 or more. `option` is named in errors.
Result<double> parse_tolerance(std::string_view option, const std::string& text);
// True if output to this stream has colors. With "auto": on a terminal, unless NO_COLOR is set.
bool has_color(std::FILE* stream, const std::string& choice);

// Writes all of `text` to standard output. Fails if the reader has closed it or the disk is full.
int print_out(const std::string& text);
Status write_to(std::FILE* stream, const std::string& text);
int print_to(std::FILE* stream, const std::string& text);  // like write_to(), and reports the error

}  // namespace depute
