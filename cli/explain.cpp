// depute explain: every node's owner, or the rules that refused it with the value seen and the values
// allowed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"
#include "support/printable.h"
#include "support/suggest.h"

namespace depute {
namespace {

struct ExplainArguments {
  RequestArguments request;
  std::string node;
  std::string lock;
  std::string colour = "auto";
  bool json = false;
};

std::string text_of(const ExplainArguments& arguments, Report report, const std::string& node,
                    std::FILE* stream) {
  if (arguments.json) {
    if (!node.empty()) std::erase_if(report.nodes, [&](const NodeReport& n) { return n.node != node; });
    return report_json(report);
  }
  std::string text = explain_text(report, {.node = node, .colour = has_colour(stream, arguments.colour)});
  if (!arguments.lock.empty() && report.lock_changes.empty())
    text += fmt::format("The plan is that of {}\n", printable(arguments.lock));
  return text;
}

int run_explain(const ExplainArguments& arguments, Compiler& compiler) {
  Result<CompileOptions> options = read_request(arguments.request);
  if (!options) return report_usage(options.error());
  options->lock = arguments.lock;
  options->lower.tell_page_facts = !arguments.json;  // the table has bytes
  std::FILE* stream = writes_standard_output(*options) ? stderr : stdout;
  Result<Compiled> compiled = run_request(arguments.request, *options, compiler);
  if (!compiled) return report_failure(compiled.error());
  Report& report = compiled->report;
  std::string node = arguments.node.starts_with("%") ? arguments.node.substr(1) : arguments.node;
  bool is_known = std::ranges::any_of(report.nodes, [&](const NodeReport& n) { return n.node == node; });
  if (!node.empty() && !is_known) {
    std::vector<std::string> names;
    for (const NodeReport& each : report.nodes) names.emplace_back(each.node.str());
    return report_error({.code = "explain",
                         .where = arguments.request.model,
                         .message = fmt::format("there is no node %{} after normalisation", node),
                         .hint = did_you_mean(node, names, "without --node all nodes are listed"),
                         .source = {}});
  }
  const bool is_locked = holds_lock(report, arguments.lock,
                                    "if this is what it should be, `depute lower --lock FILE --lock-update` "
                                    "writes the lock anew");
  const int printed = print_to(stream, text_of(arguments, std::move(report), node, stream));
  return is_locked ? printed : exit_require;
}

std::vector<Option> explain_options(ExplainArguments& arguments) {
  std::vector<Option> options = request_options(arguments.request);
  options.push_back(
      {.names = "--node", .target = &arguments.node, .help = "Only this node", .value = "NAME"});
  options.push_back({.names = "--lock",
                     .target = &arguments.lock,
                     .help = "Also tell whether the plan is that of this lock, else exit code 3",
                     .value = "FILE"});
  options.push_back(colour_option(arguments.colour));
  options.push_back({.names = "--json", .target = &arguments.json, .help = "As JSON"});
  return options;
}

}  // namespace

Command explain_command(Compiler& compiler) {
  auto arguments = std::make_shared<ExplainArguments>();
  return {.name = "explain",
          .help = "Tell for each node why it is or is not delegated",
          .options = [arguments] { return explain_options(*arguments); },
          .run = [arguments, &compiler] { return run_explain(*arguments, compiler); }};
}

}  // namespace depute
