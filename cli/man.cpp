// depute man: prints the manual page, made from the commands' own records. The build installs it.
//
//   depute man | man -l -
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"

namespace depute {
namespace {

// Escapes text for roff, so that no line starts a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_page(const Option& option) {
  std::string names;
  for (const std::string& each : option.spellings())
    names += (names.empty() ? "\\fB" : ", \\fB") + roff(each) + "\\fR";
  if (!option.is_flag() && !option.is_positional()) names += " \\fI" + roff(option.value_name()) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", names, roff(option.help));
}

std::string command_page(const Command& command) {
  std::string words;
  std::string options;
  for (const Option& option : command.options()) {
    if (option.is_positional()) words += fmt::format(" \\fI{}\\fR", roff(option.names));
    options += option_page(option);
  }
  return fmt::format(".SS \\fBdepute {}\\fR{}\n{}.\n{}", command.name, words, roff(command.help), options);
}

std::string manual(const std::vector<Command>& commands) {
  std::string text = fmt::format(
      ".TH DEPUTE 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\ndepute \\- lower PyTorch exported programs to "
      "ExecuTorch "
      "programs\n.SH SYNOPSIS\n.B depute\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n{}\n.SH "
      "COMMANDS\n",
      version(),
      roff("depute compiles programs that torch.export.save wrote (.pt2) to programs of ExecuTorch (.pte), "
           "and delegates "
           "parts of them to backends. Each command has --help."));
  for (const Command& command : commands) text += command_page(command);
  return text + fmt::format(
                    ".SH EXIT STATUS\n.TP\n{}\ndone\n.TP\n{}\nthe input or the lowering failed\n.TP\n{}\nthe "
                    "command "
                    "line is wrong\n.TP\n{}\na \\-\\-require or a \\-\\-lock does not hold\n"
                    ".SH ENVIRONMENT\n.TP\nNO_COLOR\nNo colors, whatever it is set to.\n",
                    static_cast<int>(exit_done), static_cast<int>(exit_error), static_cast<int>(exit_usage),
                    static_cast<int>(exit_require));
}

}  // namespace

Command man_command(const std::vector<Command>& commands) {
  return {.name = "man",
          .help = "Print the manual page; read it with `depute man | man -l -`",
          .options = [] { return std::vector<Option>(); },
          .run = [&commands] { return print_out(manual(commands)); }};
}

}  // namespace depute
