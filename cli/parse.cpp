// Parses the command line with CLI11, from the commands' options as data, and reports unknown words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/program/result.h"

namespace depute {
namespace {

Diagnostic usage(std::string message, std::string hint) {
  return {.code = "usage", .where = {}, .message = std::move(message), .hint = std::move(hint), .source = {}};
}

// Returns the first word that is not an option, or "".
std::string_view first_word(std::span<char*> words) {
  auto is_option = [](std::string_view word) { return word.starts_with('-'); };
  auto word = std::ranges::find_if_not(words, is_option);
  return word == words.end() ? std::string_view() : *word;
}

// The first word that is not an option must be a command. CLI11 itself would only report a missing command.
std::optional<Diagnostic> find_unknown_command(std::span<const Command> commands, std::span<char*> words) {
  const std::string_view word = first_word(words);
  if (word.data() == nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  auto is_command = [&](std::string_view text) { return std::ranges::find(names, text) != names.end(); };
  if (is_command(word)) return std::nullopt;
  auto command = std::ranges::find_if(words, is_command);
  if (command != words.end() && word.data() != words.front()) {
    return usage(fmt::format("'{}' is before the command", words.front()),
                 fmt::format("write `depute {} ...`, followed by the options", *command));
  }
  return usage(fmt::format("there is no command '{}'", word),
               did_you_mean(word, names, fmt::format("the commands are {}", fmt::join(names, ", "))));
}

// The hint for arguments that a command does not have.
std::string hint_for(const CLI::App& app) {
  std::string hint = "`depute --help` and `depute COMMAND --help` list the options";
  for (const CLI::App* command : app.get_subcommands()) {
    hint = fmt::format("`depute {} --help` lists the options", command->get_name());
    std::vector<std::string> options;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
    for (const std::string& word : command->remaining()) {
      std::string meant = did_you_mean(word.substr(0, word.find('=')), options);
      if (!meant.empty()) return meant;
    }
  }
  return hint;
}

void add_option(CLI::App& app, const Option& option) {
  CLI::Option* made = std::visit(
      [&]<typename T>(T* target) {
        if constexpr (std::is_same_v<T, bool>) {
          return app.add_flag(option.names, *target, option.help);
        } else {
          return app.add_option(option.names, *target, option.help);
        }
      },
      option.target);
  if (std::holds_alternative<std::vector<std::string>*>(option.target)) made->allow_extra_args(false);
  bool is_text = std::holds_alternative<std::string*>(option.target) ||
                 std::holds_alternative<std::vector<std::string>*>(option.target);
  if (is_text) {
    made->check([&app, value = option.value_name()](const std::string& text) {
      if (!text.starts_with("--") || app.get_option_no_throw(text) == nullptr) return std::string();
      return fmt::format("'{}' is an option, and {} is missing before it", text, value);
    });
  }
  if (is_text && !option.may_be_empty) {
    made->check([](const std::string& text) { return text.empty() ? "must not be empty" : std::string(); });
  }
  if (!option.choices.empty()) {
    made->check([choices = option.choices](const std::string& text) {
      if (std::ranges::find(choices, text) != choices.end()) return std::string();
      const std::string meant = did_you_mean(text, choices);
      return fmt::format("'{}' is invalid; expected one of {}{}{}", text, fmt::join(choices, ", "),
                         meant.empty() ? "" : "; ", meant);
    });
  }
  if (option.range) made->check(CLI::Range(option.range->first, option.range->second));
  if (!option.value.empty()) made->type_name(option.value);
  if (!option.excludes.empty()) made->excludes(app.get_option(option.excludes));
  made->required(option.is_required);
}

}  // namespace

int run_words(std::span<char*> words, std::span<const Command> commands) {
  CLI::App app("Lowers PyTorch exported programs (.pt2) to ExecuTorch programs (.pte).", "depute");
  app.allow_windows_style_options(false);  // "/" starts a path, on every system
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  // Setting up all commands takes as long as lowering a small model, so only the chosen one is set up.
  const auto chosen = std::ranges::find(commands, first_word(words), &Command::name);
  const auto asked = chosen == commands.end() ? commands : commands.subspan(chosen - commands.begin(), 1);
  std::vector<const CLI::App*> added;
  for (const Command& command : asked) {
    CLI::App* own = app.add_subcommand(command.name, command.help);
    if (asked.size() == 1) {
      for (const Option& option : command.options()) add_option(*own, option);
    }
    own->allow_extras(command.takes_any_words);
    added.push_back(own);
  }
  if (auto unknown = find_unknown_command(commands, words)) return report_usage(*unknown);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& success) {
    std::ostringstream text;  // of --help or --version
    app.exit(success, text);
    return print_out(text.str());
  } catch (const CLI::ParseError& failure) {
    return report_usage(usage(failure.what(), hint_for(app)));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!added[i]->parsed()) continue;
    const Result<int> code = asked[i].run();
    return code ? *code : report_failure(code.error());
  }
  return exit_usage;
}

}  // namespace depute
