// depute explain: every node's owner, or the rules that refused it with the value seen and the values
// allowed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"

namespace depute {
namespace {

struct ExplainArguments {
  RequestArguments request;
  std::string node;
  std::string colour = "auto";
  bool json = false;
};

int run_explain(const ExplainArguments& arguments, Compiler& compiler) {
  Result<CompileOptions> options = read_request(arguments.request);
  if (!options) return report_usage(options.error());
  std::FILE* stream = writes_standard_output(*options) ? stderr : stdout;
  Result<Compiled> compiled = run_request(arguments.request, *options, compiler);
  if (!compiled) return report_failure(compiled.error());
  Report& report = compiled->report;
  std::string node = arguments.node.starts_with("%") ? arguments.node.substr(1) : arguments.node;
  bool is_known = std::ranges::any_of(report.nodes, [&](const NodeReport& n) { return n.node == node; });
  if (!node.empty() && !is_known) {
    return report_error({.code = "explain",
                         .where = arguments.request.model,
                         .message = fmt::format("there is no node %{} after normalisation", node),
                         .hint = "without --node all nodes are listed",
                         .source = {}});
  }
  if (!arguments.json)
    return print_to(stream,
                    explain_text(report, {.node = node, .colour = has_colour(stream, arguments.colour)}));
  if (!node.empty()) std::erase_if(report.nodes, [&](const NodeReport& n) { return n.node != node; });
  return print_to(stream, report_json(report));
}

std::vector<Option> explain_options(ExplainArguments& arguments) {
  std::vector<Option> options = request_options(arguments.request);
  options.push_back(
      {.names = "--node", .target = &arguments.node, .help = "Only this node", .value = "NAME"});
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
