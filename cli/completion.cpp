// depute completion: prints shell completion scripts, made from the commands' own records.
//
//   source <(depute completion bash)          depute lower model.pt2 --ba<TAB> -> --backend
//                                             --backend x<TAB>               -> xnnpack
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/program/result.h"

namespace depute {
namespace {

// Quotes text with single quotes. Characters in `before` get a backslash.
std::string in_quotes(std::string_view text, std::string_view before, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) {
    if (before.find(c) != before.npos) out += '\\';
    out += c == '\'' ? std::string(quote) : std::string(1, c);
  }
  return out + "'";
}

bool has_known_words(const Option& option) {
  return !option.choices.empty() || !option.words.empty();
}

// True if the option's values are a fixed list, or are the first words of the lines that a command prints.
bool has_words(const Option& option) {
  return !option.words_from.empty() || has_known_words(option);
}

std::string words_of(const Option& option) {
  if (has_known_words(option))
    return fmt::format("{}", fmt::join(option.choices.empty() ? option.words : option.choices, " "));
  return fmt::format("$({} 2>/dev/null | cut -d' ' -f1)", option.words_from);
}

// Returns the positional option with known words, or null.
const Option* find_positional_words(const std::vector<Option>& options) {
  const auto found = std::ranges::find_if(
      options, [](const Option& option) { return option.is_positional() && has_words(option); });
  return found == options.end() ? nullptr : &*found;
}

std::vector<std::string> dashed_words(const Command& command) {
  std::vector<std::string> words = {"--help"};
  for (const Option& option : command.options()) {
    if (option.is_positional()) continue;
    for (std::string& each : option.spellings()) words.push_back(std::move(each));
  }
  return words;
}

std::string bash_script(const std::vector<Command>& commands) {
  std::vector<std::string_view> names;
  std::string options;
  std::string values;
  for (const Command& command : commands) {
    names.push_back(command.name);
    const std::vector<Option> all = command.options();
    const Option* positional = find_positional_words(all);
    options += fmt::format("    {}) options={}{} ;;\n", command.name,
                           in_quotes(fmt::format("{}", fmt::join(dashed_words(command), " ")), "", "'\\''"),
                           positional == nullptr ? "" : fmt::format(" words=\"{}\"", words_of(*positional)));
    for (const Option& option : all) {
      if (option.is_positional() || !has_words(option)) continue;
      for (const std::string& each : option.spellings())
        values += fmt::format("    {}:{}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                              command.name, each, words_of(option));
    }
  }
  return fmt::format(R"sh(# bash completion of depute: source <(depute completion bash)
_depute() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} options= words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    return
  fi
  case $command:$before in
{}  esac
  case $command in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi ;;
  esac
}}
complete -o filenames -F _depute depute
)sh",
                     fmt::join(names, " "), values, options);
}

std::string zsh_values(const Option& option) {
  if (has_known_words(option)) return fmt::format("({})", words_of(option));
  return option.words_from.empty() ? "_files" : "_depute_backends";
}

std::string zsh_script(const std::vector<Command>& commands) {
  constexpr std::string_view special = "[]:\\";
  std::string described;
  std::string cases;
  for (const Command& command : commands) {
    described += fmt::format("    {}\n", in_quotes(command.name + ":" + command.help, "", "'\\''"));
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    const std::vector<Option> all = command.options();
    for (const Option& option : all) {
      if (option.is_positional()) continue;
      for (const std::string& each : option.spellings()) {
        std::string quoted = in_quotes(option.help, special, "'\\''");
        std::string line = fmt::format("'*{}[{}]", each, quoted.substr(1, quoted.size() - 2));
        if (!option.is_flag()) line += ":value:" + zsh_values(option);
        cases += fmt::format("        {}' \\\n", line);
      }
    }
    const Option* positional = find_positional_words(all);
    cases += fmt::format("        '--help[Print the options]' '*:file:{}' ;;\n",
                         positional == nullptr ? "_files" : zsh_values(*positional));
  }
  return fmt::format(R"sh(#compdef depute
# zsh completion of depute: depute completion zsh > a folder of $fpath/_depute, or source <(depute completion zsh)
_depute_backends() {{
  compadd -- ${{(f)"$(depute backends 2>/dev/null | cut -d' ' -f1)"}}
}}
_depute() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _depute depute
)sh",
                     described, cases);
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string text = "# fish completion of depute: depute completion fish | source\n";
  const auto quoted = [](std::string_view words) { return in_quotes(words, "\\", "\\'"); };
  for (const Command& command : commands)
    text += fmt::format("complete -c depute -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        quoted(command.help));
  for (const Command& command : commands) {
    for (const Option& option : command.options()) {
      if (option.is_positional() && !has_words(option)) continue;
      text += fmt::format("complete -c depute -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& each : option.is_positional() ? std::vector<std::string>() : option.spellings())
        text += each.starts_with("--") ? " -l " + each.substr(2) : " -s " + each.substr(1);
      if (!option.is_flag() && !option.is_positional()) text += " -r";
      if (has_known_words(option)) {
        text += fmt::format(" -f -a \"{}\"", words_of(option));
      } else if (!option.words_from.empty()) {
        text += fmt::format(" -f -a \"({} 2>/dev/null | cut -d' ' -f1)\"", option.words_from);
      }
      text += fmt::format(" -d {}\n", quoted(option.help));
    }
  }
  return text;
}

struct Shell {
  std::string_view name;
  std::string (*script)(const std::vector<Command>&);
};
constexpr std::array<Shell, 3> shells = {{{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}};

Result<int> run_completion(const std::string& name, const std::vector<Command>& commands) {
  const auto shell = std::ranges::find(shells, name, &Shell::name);
  if (shell != shells.end()) return print_out(shell->script(commands));
  std::vector<std::string> names;
  for (const Shell& each : shells) names.emplace_back(each.name);
  return failure("usage", "SHELL",
                 fmt::format("'{}' is invalid; expected one of {}", name, fmt::join(names, ", ")),
                 did_you_mean(name, names));
}

}  // namespace

Command completion_command(const std::vector<Command>& commands) {
  auto shell = std::make_shared<std::string>();
  return {
      .name = "completion",
      .help = "Print a shell completion script",
      .options =
          [shell] {
            return std::vector<Option>{
                {.names = "SHELL", .target = shell.get(), .help = "bash, zsh or fish", .is_required = true}};
          },
      .run = [shell, &commands] { return run_completion(*shell, commands); }};
}

}  // namespace depute
