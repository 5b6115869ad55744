// depute explain: shows every node's owner, or the rules that refused it, with seen and allowed values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cli/commands.h"
#include "cli/request.h"
#include "depute/program/result.h"
#include "support/try.h"

namespace depute {
namespace {

struct ExplainArguments {
  RequestArguments request;
  std::string node;
  std::string lock;
  std::string color = "auto";
  bool json = false;
};

std::string text_of(const ExplainArguments& arguments, const Report& report, const std::string& node,
                    std::FILE* stream) {
  if (arguments.json) return node.empty() ? report_json(report) : explain_json(report, node);
  std::string text = explain_text(report, {.node = node, .color = has_color(stream, arguments.color)});
  if (!arguments.lock.empty() && report.lock_changes.empty())
    text += fmt::format("The plan is that of {}\n", printable(arguments.lock));
  return text;
}

// Suggests a node with a similar name, or else nodes with the word in their name, op or module.
std::string meant_node(const std::string& word, const Report& report) {
  constexpr std::size_t told = 3;
  std::vector<std::string> names;
  std::vector<std::string> with_word;
  for (const NodeReport& each : report.nodes) {
    names.emplace_back(each.node.str());
    const bool has_word =
        std::ranges::any_of(std::array{each.node, each.op, each.source.module_path},
                            [&](Name text) { return text.str().find(word) != std::string_view::npos; });
    if (has_word) with_word.push_back(fmt::format("%{}", printable(each.node.str())));
  }
  const std::string similar = did_you_mean(word, names);
  if (!similar.empty() || with_word.empty())
    return similar.empty() ? "without --node all nodes are listed" : similar;
  const std::size_t more = with_word.size() - std::min(told, with_word.size());
  with_word.resize(with_word.size() - more);
  return fmt::format("did you mean {}{}?", fmt::join(with_word, ", "),
                     more == 0 ? "" : fmt::format(" or one of {} more", more));
}

Result<int> run_explain(const ExplainArguments& arguments, Compiler& compiler) {
  TRY(CompileOptions options, read_request(arguments.request));
  options.lock = arguments.lock;
  options.parts.page = !arguments.json;  // the table shows bytes
  std::FILE* stream = writes_standard_output(options) ? stderr : stdout;
  TRY(Compiled compiled, run_request(arguments.request, options, compiler));
  Report& report = compiled.report;
  std::string node = arguments.node.starts_with("%") ? arguments.node.substr(1) : arguments.node;
  bool is_known = std::ranges::any_of(report.nodes, [&](const NodeReport& n) { return n.node == node; });
  if (!node.empty() && !is_known)
    return failure("explain", arguments.request.model,
                   fmt::format("there is no node %{} after normalization", node), meant_node(node, report));
  const bool is_locked = holds_lock(report, arguments.lock,
                                    "if this is what it should be, `depute lower --lock FILE --lock-update` "
                                    "writes the lock anew");
  const int printed = print_to(stream, text_of(arguments, report, node, stream));
  return is_locked ? printed : exit_require;
}

std::vector<Option> explain_options(ExplainArguments& arguments) {
  return joined(request_options(arguments.request),
                {plan_option(arguments.request),
                 {"--node", &arguments.node, "Only this node", "NAME"},
                 {"--lock", &arguments.lock,
                  "Also tell whether the plan is that of this lock, else exit code 3", "FILE"},
                 color_option(arguments.color),
                 {"--json", &arguments.json, "As JSON"}});
}

}  // namespace

Command explain_command(Compiler& compiler) {
  return make_command<ExplainArguments>(
      "explain", "Tell for each node why it is or is not delegated", explain_options,
      [&compiler](const ExplainArguments& arguments) { return run_explain(arguments, compiler); });
}

}  // namespace depute
