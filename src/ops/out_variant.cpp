#include "ops/out_variant.h"

#include <fmt/format.h>

#include <algorithm>

#include "depute/program/builder.h"
#include "ops/schema.h"

namespace depute::internal {
namespace {

// Splits "max max_values" into words.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Returns the result names of "... -> (Tensor values, Tensor indices)"; "out" for a single result. Empty if
// the results have no names, or are not tensors.
std::vector<std::string_view> result_names(std::string_view schema) {
  const std::size_t arrow = schema.rfind(" -> ");
  std::string_view results = arrow == std::string_view::npos ? "Tensor" : schema.substr(arrow + 4);
  if (results == "Tensor") return {"out"};
  if (!results.starts_with('(')) return {};
  results = results.substr(1, results.size() - 2);
  std::vector<std::string_view> names;
  constexpr std::string_view tensor = "Tensor ";
  while (!results.empty()) {
    if (!results.starts_with(tensor)) return {};
    const std::size_t end = std::min(results.find(", "), results.size());
    names.push_back(results.substr(tensor.size(), end - tensor.size()));
    results.remove_prefix(std::min(end + 2, results.size()));
  }
  return names;
}

// Splits "Tensor self, int[2] pad=[0, 0], *, str mode=\"a, b\"" at commas outside brackets and quotes.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> arguments;
  std::size_t first = 0;
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i == text.size() ? ',' : text[i];
    if (c == '"') is_quoted = !is_quoted;
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || depth > 0 || is_quoted) continue;
    if (i > first) arguments.push_back(text.substr(first, i - first));
    first = i + 2;
  }
  return arguments;
}

void replace(std::string& text, std::string_view old, std::string_view by) {
  if (const std::size_t at = text.find(old); at != std::string::npos) text.replace(at, old.size(), by);
}

Replacement call_on_tensors(Builder& b, const OpCall& call) {
  std::string name(call.def().name.str());
  replace(name, ".Scalar", ".Tensor");
  return one(b.call(name, call.args()));
}

}  // namespace

ScalarLine::ScalarLine(const OpLine& of_tensors)
    : schema(of_tensors.schema), out(of_tensors.rules.out == nullptr ? "" : of_tensors.rules.out) {
  replace(schema, ".Tensor", ".Scalar");
  replace(schema, "Tensor other", "Scalar other");
  replace(schema, "other, *, Scalar", "other, Scalar");
  OpRules rules = of_tensors.rules;
  rules.has_scalar = false;
  rules.out_variant = nullptr;
  const bool has_kernel = out.ends_with(".Tensor_out");
  replace(out, ".Tensor_out", ".Scalar_out");
  rules.out = has_kernel ? out.c_str() : nullptr;
  if (!has_kernel) {
    const bool is_core = (rules.flags & Core) != None;
    rules.flags = rules.flags & ~Core;
    rules.fit = rules.on_complex = nullptr;
    if (is_core || rules.decompose == nullptr) rules.decompose = call_on_tensors;
  }
  line = {schema.c_str(), rules};
}

std::string schema_of(const OpLine& line) {
  const std::string_view text = line.schema;
  if (line.rules.same_as == nullptr || text.find('(') != std::string_view::npos) return full_schema(text);
  const std::string& schema = torch_ops()->find(Name(line.rules.same_as))->schema;
  return full_name(text).append(schema.substr(schema.find('(')));
}

std::optional<OutVariant> out_variant(const OpLine& line) {
  const std::string_view schema = line.schema;
  const std::string name = full_name(schema_name(schema));
  const std::string_view op = name;
  constexpr std::string_view library = "aten.";
  if (!op.starts_with(library) || schema.find("(a") != std::string_view::npos) return std::nullopt;
  OutVariant variant{.name = std::string(library), .arguments = result_names(schema)};
  const std::size_t dot = op.rfind('.');
  const std::string_view packet = op.substr(library.size(), dot + 1 - library.size()),
                         overload = op.substr(dot + 1);
  const std::string_view known_name =
      line.rules.out_variant == nullptr ? std::string_view() : line.rules.out_variant;
  const std::string_view kernel = line.rules.out == nullptr ? std::string_view() : line.rules.out;
  if (!known_name.empty()) {
    const std::size_t end = std::min(known_name.find(": "), known_name.size());
    variant.name += known_name.substr(0, end);
    if (end < known_name.size()) variant.arguments = words_of(known_name.substr(end + 2));
    variant.is_explicit = true;
  } else if (kernel.starts_with(packet)) {
    variant.name += kernel;
    variant.is_explicit = true;
  } else {
    variant.name.append(packet).append(overload == "default" ? "out" : std::string(overload) + "_out");
  }
  if (variant.arguments.empty() || variant.arguments.size() != result_names(schema).size())
    return std::nullopt;
  return variant;
}

std::string out_schema(const OpLine& line, const OutVariant& variant) {
  const std::string schema = schema_of(line);
  OpDef functional;
  parse_schema(schema, functional);
  const std::size_t open = schema.find('('), arrow = schema.rfind(" -> ");
  std::string text = variant.name + "(", results;
  std::size_t index = 0;
  bool has_star = false;
  for (std::string_view argument :
       arguments_of(std::string_view(schema).substr(open + 1, arrow - open - 2))) {
    const bool is_star = argument == "*";
    has_star = has_star || is_star;
    if (is_star || functional.is_kernel_argument(index)) text.append(argument).append(", ");
    if (!is_star) ++index;
  }
  if (!has_star) text += "*, ";
  const std::vector<std::string_view> names = result_names(schema);
  for (std::size_t i = 0; i < variant.arguments.size(); ++i) {
    const std::string tensor = fmt::format("Tensor({}!)", static_cast<char>('a' + i));
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", tensor, variant.arguments[i]);
    results += names.size() == 1 ? tensor : fmt::format("{}{} {}", i == 0 ? "" : ", ", tensor, names[i]);
  }
  if (names.size() > 1) results = "(" + results + ")";
  return text + ") -> " + results;
}

}  // namespace depute::internal
