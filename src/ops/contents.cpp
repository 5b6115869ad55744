#include "ops/contents.h"

#include <fmt/format.h>

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

std::string functional_schema(std::string_view schema) {
  const std::size_t open = schema.find('(');
  const std::size_t arrow = schema.rfind(" -> ");
  CHECK(open != schema.npos && arrow != schema.npos) << schema;
  std::string args(schema.substr(open, arrow - open));
  const auto contents = std::ranges::count(args, '!');
  std::erase(args, '!');
  std::string_view own = schema.substr(arrow + 4);
  if (own.starts_with('(')) own = own.substr(1, own.size() - 2);
  std::string returns(own);
  for (std::ptrdiff_t i = 0; i < contents; ++i) returns += returns.empty() ? "Tensor" : ", Tensor";
  return fmt::format("{}{} -> ({})", functional_name(schema.substr(0, open)), args, returns);
}

std::vector<std::size_t> renewed_arguments(const OpDef& def) {
  std::vector<std::size_t> renewed;
  if (!def.is(OpFlag::copies_first)) return renewed;
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    if (def.args[i].is_aliased) renewed.push_back(i);
  }
  return renewed;
}

Node& add_functional_call(Graph& graph, Node& node, const OpDef& functional, std::span<const Argument> args) {
  std::vector<ResultSpec> results;
  for (const Value* result : node.results()) results.push_back({result->name(), result->type()});
  const ResultSpec nothing{Symbol("nothing"), Type()};
  const std::vector<std::size_t> renewed = renewed_arguments(functional);
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

const Value* renewed_operand(const Node& node, std::size_t result) {
  const OpDef* def = node.def();
  if (def == nullptr || !def->is(OpFlag::copies_first)) return nullptr;
  const std::vector<std::size_t> renewed = renewed_arguments(*def);
  const std::size_t own = renewed.empty() ? 0 : def->returns.size() - renewed.size();
  if (result < own || (renewed.empty() && result > 0)) return nullptr;
  const OpCall call(node);
  const Argument& operand = call[renewed.empty() ? 0 : renewed[result - own]];
  return operand.is_value() ? operand.as_value() : nullptr;
}

}  // namespace depute
