// depute backends: lists the available backends, or the support matrix of one backend.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.h"
#include "depute/backend/pins.h"
#include "depute/compiler/worker.h"
#include "depute/program/result.h"
#include "support/fields.h"
#include "tools/document/document.h"

namespace depute {
namespace {

using Json = JsonValue;

std::string text_of(const Registry& registry) {
  doc::Document document;
  for (const BackendEntry& entry : registry.entries()) {
    document.print("{:<12} {:<32} {}{}", entry.name, entry.backend->id(), entry.description,
                   entry.is_ready() ? "" : " (not ready: see `depute backends " + entry.name + "`)");
  }
  return render_text(document);
}

std::string recipes_text(const Registry& registry) {
  doc::Document document;
  for (const BackendEntry& entry : registry.entries())
    for (const BackendRecipe& recipe : entry.recipes)
      document.print("{:<42} {}  ({})", recipe.name, options_text(entry, recipe), recipe.description);
  return render_text(document);
}

// "input: rank 3 to 4; bias: constant; or ...", followed by the conditions.
std::string text_of(const SupportLimit& limit) {
  std::string text = fmt::format("{}: {}", limit.of, limit.kind);
  if (limit.least) text += fmt::format(" {}{}", limit.most ? "" : "from ", *limit.least);
  if (limit.most && limit.most != limit.least) text += fmt::format(" to {}", *limit.most);
  if (!limit.values.empty()) text += fmt::format(" {}", fmt::join(limit.values, ", "));
  return text;
}

std::string text_of(const SupportRow& row) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < row.forms.size(); ++i) {
    for (std::size_t n = 0; n < row.forms[i].size(); ++n)
      parts.push_back((i > 0 && n == 0 ? "or " : "") + text_of(row.forms[i][n]));
  }
  if (!row.conditions.empty()) parts.push_back(row.conditions);
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The backend's own options and the common ones.
std::vector<std::pair<std::string, std::string>> options_of(const BackendEntry& entry) {
  std::vector<std::pair<std::string, std::string>> options = entry.options;
  for (auto& common : partition_control_meanings()) options.push_back(std::move(common));
  return options;
}

std::string text_of(const BackendEntry& entry) {
  doc::Document document;
  document.print("{} ({}): {}", entry.name, entry.backend->id(), entry.description);
  if (!entry.is_ready()) document.print("  not ready: {}", entry.missing());
  for (const auto& [key, meaning] : options_of(entry)) document.print("  option {:<16} {}", key, meaning);
  for (const BackendRecipe& recipe : entry.recipes)
    document.print("  recipe {:<42} {}", recipe.name, options_text(entry, recipe));
  document.add(doc::Table{
      .columns = {{"op"}, {"support"}},
      .rows = doc::rows_of(support_matrix(entry).value_or(std::vector<SupportRow>()),
                           [](const SupportRow& row) { return doc::Row{{row.op, text_of(row)}}; })});
  return render_text(document);
}

Json json_of(const BackendEntry& entry) {
  Json entry_json = {{"name", entry.name}, {"id", entry.backend->id()}, {"description", entry.description}};
  entry_json["ready"] = entry.is_ready();
  entry_json["options"] = Json::object();
  for (const auto& [key, meaning] : options_of(entry)) entry_json["options"][key] = meaning;
  entry_json["recipes"] = Json::object();
  for (const BackendRecipe& recipe : entry.recipes)
    entry_json["recipes"][recipe.name] = options_text(entry, recipe);
  entry_json["support"] =
      Json::parse(support_json(support_matrix(entry).value_or(std::vector<SupportRow>())));
  return entry_json;
}

// An unknown name may be a worker program on PATH, or exec:PATH.
Status add_worker(Compiler& compiler, std::string& name) {
  DEPUTE_TRY(BackendRequest request, parse_backend_argument(name));
  std::vector<BackendRequest> requests = {std::move(request)};
  DEPUTE_TRY_STATUS(add_workers(compiler, requests));
  name = requests[0].name;
  return {};
}

struct BackendsArguments {
  std::string name;
  bool recipes = false;
  bool json = false;
};

Result<int> run_backends(const BackendsArguments& arguments, Compiler& compiler) {
  std::string name = arguments.name;
  if (arguments.recipes && arguments.json)
    return failure("usage", "--recipes",
                   "cannot be combined with --json, which has the recipes of each backend");
  if (arguments.recipes) return print_out(recipes_text(compiler.registry()));
  if (!name.empty()) DEPUTE_TRY_STATUS(add_worker(compiler, name));
  const Registry& registry = compiler.registry();
  if (name.empty() && !arguments.json) return print_out(text_of(registry));
  if (name.empty()) {
    Json list = Json::array();
    for (const BackendEntry& entry : registry.entries()) list.push_back(json_of(entry));
    return print_out(dump_json(list, 1));
  }
  const BackendEntry* entry = registry.find(name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const BackendEntry& each : registry.entries()) names.push_back(each.name);
    return failure("usage", "NAME", fmt::format("there is no backend '{}'", name),
                   did_you_mean(name, names, "`depute backends` lists them"));
  }
  if (auto rows = support_matrix(*entry); !rows) return Failure(rows.error());
  return print_out(arguments.json ? dump_json(json_of(*entry), 1) : text_of(*entry));
}

std::vector<Option> backends_options(BackendsArguments& arguments) {
  return {{.names = "NAME",
           .target = &arguments.name,
           .help = "A backend, or exec:PATH: print its options and what it supports",
           .may_be_empty = true,
           .words_from = "depute backends"},
          {.names = "--recipes",
           .target = &arguments.recipes,
           .help = "List the names for --recipe instead, with the options that they stand for",
           .excludes = "NAME"},
          {"--json", &arguments.json, "As JSON"}};
}

}  // namespace

Command backends_command(Compiler& compiler) {
  return make_command<BackendsArguments>(
      "backends", "List the backends, or what one of them supports", backends_options,
      [&compiler](const BackendsArguments& arguments) { return run_backends(arguments, compiler); });
}

}  // namespace depute
