// depute explain: every node's owner, or the rules that refused it with the value seen and the values
// allowed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/backend_argument.h"
#include "cli/commands.h"
#include "compile.h"

namespace depute {
namespace {

struct ExplainArguments {
  std::string model;
  std::vector<std::string> backends;
  std::string node;
  bool json = false;
};

int run_explain(const ExplainArguments& arguments, const Registry& registry) {
  CompileOptions options;
  options.input = arguments.model;
  for (const std::string& text : arguments.backends) {
    Result<BackendRequest> request = parse_backend_argument(text);
    if (!request) return report_usage(request.error());
    options.backends.push_back(std::move(*request));
  }
  Result<Compiled> compiled = compile(options, registry);
  if (!compiled)
    return compiled.error().code == "usage" ? report_usage(compiled.error()) : report_error(compiled.error());
  Report& report = compiled->report;
  std::string node = arguments.node.starts_with("%") ? arguments.node.substr(1) : arguments.node;
  bool is_known = std::ranges::any_of(report.nodes, [&](const NodeReport& n) { return n.node == node; });
  if (!node.empty() && !is_known) {
    return report_error({.code = "explain",
                         .where = arguments.model,
                         .message = fmt::format("there is no node %{} after normalisation", node),
                         .hint = "without --node all nodes are listed",
                         .source = {}});
  }
  if (!arguments.json) return print_out(explain_text(report, {.node = node, .colour = is_terminal()}));
  if (!node.empty()) std::erase_if(report.nodes, [&](const NodeReport& n) { return n.node != node; });
  return print_out(report_json(report));
}

}  // namespace

Command add_explain_command(CLI::App& app, const Registry& registry) {
  auto arguments = std::make_shared<ExplainArguments>();
  app.add_option("MODEL", arguments->model, "A .pt2 or .ir file")->required();
  app.add_option("--backend", arguments->backends,
                 "NAME[:key=value,...]; several are asked in the order given")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->required();
  app.add_option("--node", arguments->node, "Only this node")->type_name("NAME");
  app.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &registry] { return run_explain(*arguments, registry); };
}

}  // namespace depute
