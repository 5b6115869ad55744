#include "ops/contents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/copy.h"
#include "support/check.h"

namespace depute {

std::string functional_name(std::string_view op) {
  const std::size_t dot = op.rfind('.');
  const std::string_view overload = op.substr(dot + 1);
  if (overload == "default") return fmt::format("{}.functional", op.substr(0, dot));
  return fmt::format("{}.{}_functional", op.substr(0, dot), overload);
}

namespace {

// Returns the alias mark of a tensor: "a!" for "Tensor(a!)? cache"; empty if there is none.
std::string_view mark_of(std::string_view tensor) {
  constexpr std::string_view start = "Tensor(";
  return tensor.starts_with(start) ? tensor.substr(start.size(), tensor.find(')') - start.size())
                                   : std::string_view();
}

// Splits "(Tensor(a!) cache, SymInt at=0)" into "Tensor(a!) cache", "SymInt at=0"; the brackets are optional.
std::vector<std::string_view> parts_of(std::string_view list) {
  if (list.starts_with('(')) list = list.substr(1, list.size() - 2);
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    constexpr std::string_view comma = ", ";
    const std::size_t end = std::min(list.find(comma), list.size());
    parts.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + comma.size(), list.size()));
  }
  return parts;
}

struct SchemaParts {
  std::string_view name, args, results;  // lists including their brackets
};
SchemaParts split_schema(std::string_view schema) {
  constexpr std::string_view between = " -> ";
  const std::size_t open = schema.find('('), arrow = schema.rfind(between);
  CHECK(open != schema.npos && arrow != schema.npos) << schema;
  return {schema.substr(0, open), schema.substr(open, arrow - open), schema.substr(arrow + between.size())};
}

}  // namespace

std::vector<AliasedResult> aliased_results(std::string_view schema) {
  const SchemaParts parts = split_schema(schema);
  std::vector<std::string_view> written;
  for (std::string_view arg : parts_of(parts.args)) {
    if (mark_of(arg).ends_with('!')) written.push_back(mark_of(arg));
  }
  std::vector<AliasedResult> results;
  for (std::string_view result : parts_of(parts.results)) {
    AliasedResult& given =
        results.emplace_back(AliasedResult{.is_own = mark_of(result).empty(), .written = {}});
    const auto found = std::ranges::find(written, mark_of(result));
    if (found != written.end()) given.written = static_cast<std::size_t>(found - written.begin());
  }
  return results;
}

std::string functional_schema(std::string_view schema) {
  const SchemaParts parts = split_schema(schema);
  std::string args(parts.args);
  const auto contents = std::ranges::count(args, '!');
  std::erase(args, '!');
  std::vector<std::string_view> results = parts_of(parts.results);
  std::erase_if(results, [](std::string_view result) { return !mark_of(result).empty(); });
  results.insert(results.end(), static_cast<std::size_t>(contents), "Tensor");
  return fmt::format("{}{} -> ({})", functional_name(parts.name), args, fmt::join(results, ", "));
}

std::vector<std::size_t> donated_arguments(const OpDef& def) {
  std::vector<std::size_t> renewed;
  if (!def.is(OpFlag::MayAliasOperand)) return renewed;
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    if (def.args[i].is_aliased) renewed.push_back(i);
  }
  return renewed;
}

Node& add_functional_call(Graph& graph, Node& node, const OpDef& functional, std::span<const Argument> args,
                          std::span<const Value* const> own) {
  std::vector<ResultSpec> results;
  for (const Value* result : own) results.push_back({result->name(), result->type()});
  const ResultSpec nothing{Name("nothing"), Type()};
  const std::vector<std::size_t> renewed = donated_arguments(functional);
  results.resize(functional.returns.size() - renewed.size(), nothing);
  for (std::size_t i : renewed) {
    const Value* written = args[i].is_value() ? args[i].as_value() : nullptr;
    results.push_back(written == nullptr ? nothing : ResultSpec{written->name(), written->type()});
  }
  std::vector<Argument> positional;
  std::vector<NamedArgument> named;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Argument copy =
        graph.import(args[i], [&](const Value* value) { return Argument::of(graph.own(*value)); });
    if (functional.args[i].keyword_only) {
      named.push_back({functional.args[i].name, copy});
    } else {
      positional.push_back(copy);
    }
  }
  Node* call = graph.add(functional.name, positional, named, results, &node);
  inherit(*call, node);
  return *call;
}

const Value* donated_operand(const Node& node, std::size_t result) {
  const OpDef* def = node.def();
  if (def == nullptr || !def->is(OpFlag::MayAliasOperand)) return nullptr;
  const std::vector<std::size_t> renewed = donated_arguments(*def);
  const std::size_t own = renewed.empty() ? 0 : def->returns.size() - renewed.size();
  if (result < own || (renewed.empty() && result > 0)) return nullptr;
  const OpCall call(node);
  const Argument& operand = call[renewed.empty() ? 0 : renewed[result - own]];
  return operand.is_value() ? operand.as_value() : nullptr;
}

}  // namespace depute
