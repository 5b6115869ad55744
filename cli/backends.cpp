// depute backends: lists the available backends, or the support matrix of one backend.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "depute/backend/pins.h"
#include "depute/compiler/worker.h"
#include "depute/program/result.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Registry& registry) {
  std::string text;
  for (const BackendEntry& entry : registry.entries()) {
    text += fmt::format("{:<12} {:<32} {}\n", entry.name, entry.backend->id(), entry.description);
  }
  return text;
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
  std::string text = fmt::format("{} ({}): {}\n", entry.name, entry.backend->id(), entry.description);
  for (const auto& [key, meaning] : options_of(entry))
    text += fmt::format("  option {:<16} {}\n", key, meaning);
  std::size_t width = 0;
  std::vector<SupportRow> rows = support_matrix(entry).value_or(std::vector<SupportRow>());
  for (const SupportRow& row : rows) width = std::max(width, row.op.size());
  for (const SupportRow& row : rows) text += fmt::format("  {:<{}}  {}\n", row.op, width, text_of(row));
  return text;
}

Json json_of(const BackendEntry& entry) {
  Json json = {{"name", entry.name}, {"id", entry.backend->id()}, {"description", entry.description}};
  json["options"] = Json::object();
  for (const auto& [key, meaning] : options_of(entry)) json["options"][key] = meaning;
  json["support"] = Json::parse(support_json(support_matrix(entry).value_or(std::vector<SupportRow>())));
  return json;
}

// An unknown name may be a worker program on PATH, or exec:PATH.
Status add_worker(Compiler& compiler, std::string& name) {
  DEPUTE_TRY(BackendRequest request, parse_backend_argument(name));
  std::vector<BackendRequest> requests = {std::move(request)};
  DEPUTE_TRY_STATUS(add_workers(compiler, requests));
  name = requests[0].name;
  return {};
}

int run_backends(Compiler& compiler, std::string name, bool as_json) {
  if (!name.empty()) {
    if (Status added = add_worker(compiler, name); !added) return report_failure(added.error());
  }
  const Registry& registry = compiler.registry();
  if (name.empty() && !as_json) return print_out(text_of(registry));
  if (name.empty()) {
    Json json = Json::array();
    for (const BackendEntry& entry : registry.entries()) json.push_back(json_of(entry));
    return print_out(json.dump(1) + "\n");
  }
  const BackendEntry* entry = registry.find(name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const BackendEntry& each : registry.entries()) names.push_back(each.name);
    return report_usage({.code = "usage",
                         .where = "NAME",
                         .message = fmt::format("there is no backend '{}'", name),
                         .hint = did_you_mean(name, names, "`depute backends` lists them"),
                         .source = {}});
  }
  if (auto rows = support_matrix(*entry); !rows) return report_error(rows.error());
  return print_out(as_json ? json_of(*entry).dump(1) + "\n" : text_of(*entry));
}

}  // namespace

Command backends_command(Compiler& compiler) {
  auto name = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  return {.name = "backends",
          .help = "List the backends, or what one of them supports",
          .options =
              [name, as_json] {
                return std::vector<Option>{
                    {.names = "NAME",
                     .target = name.get(),
                     .help = "A backend, or exec:PATH: print its options and what it supports",
                     .may_be_empty = true,
                     .words_from = "depute backends"},
                    {.names = "--json", .target = as_json.get(), .help = "As JSON"}};
              },
          .run = [name, as_json, &compiler] { return run_backends(compiler, *name, *as_json); }};
}

}  // namespace depute
