// The subcommands of `depute`, as data: their options and what runs when one was chosen. parse.cpp reads the
// command line by them; nothing else knows the library that does it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "depute/command_line.h"
#include "depute/result.h"

namespace depute {

// An option, and where its value goes. A flag has a bool; what may be given several times has a list.
struct Option {
  std::string names;  // "-o,--output"; a word without dashes is told by its place: "MODEL"
  std::variant<bool*, int*, std::uint64_t*, std::string*, std::vector<std::string>*> target;
  std::string help;
  std::string value = {};     // what help calls the value: "FILE"
  bool may_be_empty = false;  // else "" is refused, which can only come from an empty variable of a script
  bool is_required = false;
  std::optional<std::pair<int, int>> range = {};  // of a number, both ends allowed
  std::string excludes = {};                      // the name of an earlier option that cannot stand beside it
  std::vector<std::string> choices = {};          // all that the value can be
  std::vector<std::string> words = {};            // some of what the value can be, which a shell completes
  std::string words_from = {};  // a command that prints what the value can be, as the first word of each line

  std::vector<std::string> spellings() const;  // "-o", "--output"
  bool is_flag() const;
  bool is_positional() const;
  std::string value_name() const;
};

struct Command {
  std::string name;
  std::string help;
  std::function<std::vector<Option>()> options;  // asked of the chosen command alone: they are slow to set up
  std::function<int()> run;                      // gives the exit code
  bool takes_any_words = false;                  // which it does not read
};

Command lower_command(Compiler& compiler);
Command explain_command(Compiler& compiler);
Command doctor_command(Compiler& compiler);
Command show_command(const Compiler& compiler);
Command size_command(const Compiler& compiler);
Command diff_command(Compiler& compiler);
Command extract_command(Compiler& compiler);
Command graph_command(Compiler& compiler);
Command profile_command();
Command backends_command(Compiler& compiler);
Command verify_command();
Command replay_command();
Command test_backend_command();
// Of all commands; the list has to stay where it is.
Command completion_command(const std::vector<Command>& commands);
Command man_command(const std::vector<Command>& commands);

// Reads the words behind the program's name and runs the command that they choose; gives its exit code.
int run_words(std::span<char*> words, std::span<const Command> commands);

// Prints "error[code]: where: message", the source line and the hint, to standard error.
int report_error(const Diagnostic& diagnostic);
// The same with the exit code of a wrong command line.
int report_usage(const Diagnostic& diagnostic);

// --color: auto, always or never.
Option colour_option(std::string& choice);
// Whether what goes to this stream has colours: with auto on a terminal, unless NO_COLOR is set to anything.
bool has_colour(std::FILE* stream, const std::string& choice);

// Writes all of `text` to standard output; fails when the reader is gone or the disk is full.
int print_out(const std::string& text);
Status write_to(std::FILE* stream, const std::string& text);
int print_to(std::FILE* stream, const std::string& text);  // the same, and says what failed

}  // namespace depute
