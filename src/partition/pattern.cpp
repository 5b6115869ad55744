#include "depute/backend/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "depute/program/op.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view open_rest = "match.rest";
constexpr std::string_view any_order = "any_order";

bool is_marker(const Argument& argument, std::string_view marker) {
  return argument.kind == Argument::Kind::Operator && argument.as_symbol() == marker;
}

// Rejects a size that is neither a number nor a symbol: an expression cannot be matched.
Status check_type(const Pattern& pattern, const Value& value) {
  if (!value.type().is_tensor()) return {};
  for (const SymInt& size : value.tensor().sizes) {
    if (size.is_constant() || size.expr()->kind == SymExpr::Kind::Symbol) continue;
    return failure("pattern", fmt::format("{}, %{}", pattern.name().str(), value.name().str()),
                   fmt::format("the size {} must be a number or a symbol", size.str()));
  }
  return {};
}

Status check_inputs(const Pattern& pattern) {
  const Method& method = pattern.method();
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    const Value& input = *method.graph->inputs()[i];
    const bool is_plain = method.inputs[i].kind == InputSpec::Kind::UserInput && !method.inputs[i].constant;
    if (!is_plain && !method.inputs[i].has_data()) {
      return failure("pattern", fmt::format("{}, %{}", pattern.name().str(), input.name().str()),
                     "an input of a pattern must be a value, param, buffer or constant");
    }
    TRY_STATUS(check_type(pattern, input));
  }
  return {};
}

}  // namespace

bool is_literal_input(const Value& input) {
  switch (input.type().kind) {
    case Type::Kind::Int:
    case Type::Kind::Float:
    case Type::Kind::Bool:
    case Type::Kind::String:
      return input.producer() == nullptr;
    default:
      return false;
  }
}

Result<std::vector<Pattern>> parse_patterns(std::string_view text, const std::string& file_name,
                                            const std::shared_ptr<const OpTable>& ops) {
  TRY(Program parsed, parse_program(text, file_name, ops));
  auto program = std::make_shared<const Program>(std::move(parsed));
  std::vector<Pattern> patterns;
  for (const auto& method : program->methods) {
    Pattern pattern;
    pattern.program_ = program;
    pattern.method_ = method.get();
    TRY_STATUS(pattern.compile());
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

Status Pattern::compile() {
  TRY_STATUS(check_inputs(*this));
  for (const Node& node : method_->graph->nodes()) TRY_STATUS(add_node(node));
  if (nodes_.empty()) return failure("pattern", name().str(), "the pattern has no nodes");
  if (nodes_.size() > max_pattern_nodes) {
    return failure(
        "pattern", name().str(),
        fmt::format("has {} nodes, more than max_pattern_nodes ({})", nodes_.size(), max_pattern_nodes));
  }
  TRY_STATUS(check_outputs());
  return order_nodes();
}

Status Pattern::add_node(const Node& node) {
  const auto fault = [&](std::string_view message, std::string_view hint = {}) {
    return failure("pattern", place_of(node), message, hint);
  };
  if (has_bodies(node)) return fault("a pattern must not have bodies");
  if (!node.tag.empty() && node.tag != any_order)
    return fault(fmt::format("unknown mark '!{}'", node.tag.str()), "!supported: !any_order");
  for (const Value* result : node.results()) TRY_STATUS(check_type(*this, *result));
  PatternNode entry{
      .node = &node, .constraints = {}, .positional = node.args().size(), .any_order = !node.tag.empty()};
  const OpDef* def = node.def();
  for (std::size_t i = 0; i < node.args().size(); ++i) {
    if (is_marker(node.arg(i), open_rest)) {
      if (i + 1 < node.args().size()) return fault("match.rest must be the last argument");
      entry.open_rest = true;
      entry.positional = i;
      break;
    }
    if (def != nullptr && i >= def->args.size())
      return fault(
          fmt::format("got {} arguments; at most {} are allowed", node.args().size(), def->args.size()));
    entry.constraints.push_back({.position = i, .keyword = {}, .argument = &node.arg(i)});
  }
  for (const NamedArgument& named : node.kwargs()) {
    const int index = def == nullptr ? -1 : def->arg_index(named.name);
    if (def != nullptr && index < 0) return fault(fmt::format("unknown argument '{}'", named.name.str()));
    const bool is_twice = index >= 0 && static_cast<std::size_t>(index) < entry.positional;
    if (is_twice) return fault(fmt::format("duplicate argument '{}'", named.name.str()));
    entry.constraints.push_back({.position = index < 0 ? 0 : static_cast<std::size_t>(index),
                                 .keyword = index < 0 ? named.name : Name(),
                                 .argument = &named.value});
  }
  if (entry.any_order && entry.positional < 2) return fault("!!any_order requires two positional arguments");
  nodes_.push_back(std::move(entry));
  return {};
}

Status Pattern::check_outputs() const {
  const Graph& graph = *method_->graph;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Argument& output = graph.outputs()[i];
    const bool is_result = output.is_value() && output.as_value()->producer() != nullptr;
    if (!is_result || method_->outputs[i].kind != OutputSpec::Kind::UserOutput)
      return failure("pattern", name().str(), "a pattern must return results of its nodes");
  }
  return {};
}

// Orders the nodes for matching, starting at the last one. Each next node produces a value of the nodes
// placed so far, or else uses one.
Status Pattern::order_nodes() {
  std::vector<bool> is_placed(nodes_.size(), false);
  std::unordered_set<const Value*> known;
  const auto place = [&](const Step& step) {
    steps_.push_back(step);
    is_placed[step.node] = true;
    const Node& node = *nodes_[step.node].node;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      // A literal has no producer and no other users.
      if (!is_literal_input(*node.operand(i))) known.insert(node.operand(i));
    }
    known.insert(node.results().begin(), node.results().end());
  };
  const auto maker = [&](std::size_t i) {
    const Node& node = *nodes_[i].node;
    const auto made = std::ranges::find_if(node.results(), [&](const Value* v) { return known.contains(v); });
    return Step{i, made == node.results().end() ? nullptr : *made, nullptr};
  };
  const auto user = [&](std::size_t i) {
    const Node& node = *nodes_[i].node;
    Step step{i, nullptr, nullptr};
    for (std::size_t operand = 0; operand < node.operand_count(); ++operand) {
      const Value* value = node.operand(operand);
      if (!known.contains(value)) continue;
      // Prefers inner values, which have few users; an input of the pattern may have many.
      if (step.used == nullptr || value->producer() != nullptr) step.used = value;
    }
    return step;
  };
  const auto next = [&]() -> Step {
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (!is_placed[i] && maker(i).made != nullptr) return maker(i);
    }
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (!is_placed[i] && user(i).used != nullptr) return user(i);
    }
    return {nodes_.size(), nullptr, nullptr};
  };
  place({nodes_.size() - 1, nullptr, nullptr});
  while (steps_.size() < nodes_.size()) {
    const Step step = next();
    if (step.node == nodes_.size()) {
      return failure("pattern", name().str(), "the nodes of a pattern must be connected",
                     "write unconnected parts as two patterns");
    }
    place(step);
  }
  return {};
}

}  // namespace depute
