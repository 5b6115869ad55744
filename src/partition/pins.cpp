#include "depute/backend/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "depute/program/op.h"
#include "depute/program/result.h"
#include "depute/program/walk.h"
#include "partition/node_names.h"
#include "platform/regex_syntax.h"
#include "support/try.h"

namespace depute {
namespace {

std::string_view take_part(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(part.size() + 1, path.size()));
  return part;
}

// A part of `path` that is * stands for any part of the name.
bool is_below(std::string_view name, std::string_view path) {
  while (!path.empty()) {
    if (name.empty()) return false;
    const std::string_view part = take_part(name);
    const std::string_view wanted = take_part(path);
    if (wanted != "*" && wanted != part) return false;
  }
  return true;
}

bool is_in_module(const Node& node, std::string_view path) {
  return node.source != nullptr && is_below(node.source->module_path.str(), path);
}

// Describes a fault in the same words with every library.
std::string_view regex_fault(std::regex_constants::error_type code) {
  namespace kinds = std::regex_constants;
  if (code == kinds::error_brack) return "mismatched [ and ]";
  if (code == kinds::error_paren || code == kinds::error_badrepeat)
    return "mismatched ( and ), or nothing before * or +";
  if (code == kinds::error_range) return "a range in [ and ] whose end is before its start";
  if (code == kinds::error_escape) return "an unknown character after \\";
  return "an unknown character class, or an expression that is too large";
}

// Rejects features that breadth-first matching lacks or that make the automaton large.
Result<std::regex> compile_regex(std::string_view text) {
  const auto fault = [&](std::string_view message) {
    return failure("usage", fmt::format("name:{}", text), message, "like relu_[0-9]+|gelu.*");
  };
  if (text.size() > max_pin_regex)
    return fault(fmt::format("the expression is longer than max_pin_regex ({} characters)", max_pin_regex));
  if (text.find('{') != std::string_view::npos) return fault("repetition counts in braces are not supported");
  for (std::size_t i = text.find('\\'); i < text.size() - 1; i = text.find('\\', i + 2))
    if (std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0)
      return fault("back-references are not supported");
  try {
    return std::regex(text.begin(), text.end(), platform::regex_syntax);
  } catch (const std::regex_error& failure) {
    return fault(fmt::format("invalid regular expression: {}", regex_fault(failure.code())));
  }
}

// Visits all nodes of a program and of its delegates' original programs, until `visit` returns true.
template <typename Visit>
bool any_node(const Program& program, Visit&& visit) {
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) {
        if (visit(node)) return true;
      }
    }
  }
  return std::ranges::any_of(program.delegates, [&](const auto& delegate) {
    return delegate->original != nullptr && any_node(*delegate->original, visit);
  });
}

// Adds the runs of parts of a dotted name: for "aten.relu.default" these are aten.relu.default, relu.default,
// aten.relu and so on. With `from_start`, only those that include the first part.
void add_runs_of_parts(std::string_view name, bool from_start, std::set<std::string>& runs) {
  if (name.empty()) return;
  for (std::size_t start = 0; start < name.size() && (start == 0 || !from_start);) {
    for (std::size_t end = start; end < name.size(); ++end) {
      end = std::min(name.find('.', end), name.size());
      runs.emplace(name.substr(start, end - start));
    }
    start = std::min(name.find('.', start), name.size() - 1) + 1;
  }
}

}  // namespace

Result<NodeSelector> NodeSelector::parse(std::string_view text) {
  constexpr std::pair<std::string_view, Kind> kinds[] = {
      {"module:", Kind::Module}, {"node:", Kind::Node}, {"name:", Kind::Name}, {"op:", Kind::Op}};
  const auto named =
      std::ranges::find_if(kinds, [&](const auto& kind) { return text.starts_with(kind.first); });
  const bool is_bare = named == std::end(kinds);
  std::string_view pattern = is_bare ? text : text.substr(named->first.size());
  const Kind kind = is_bare ? Kind::Module : named->second;
  if (is_bare && text.find(':') != std::string_view::npos) {
    return failure("usage", text, fmt::format("unknown selector '{}'", text.substr(0, text.find(':') + 1)),
                   "expected module:PATH, node:NAME, name:REGEX or op:OP");
  }
  if (kind == Kind::Module && pattern.ends_with(".*")) pattern.remove_suffix(2);
  if (pattern.empty())
    return failure("usage", text, "the selector is empty",
                   "expected module:PATH, node:NAME, name:REGEX or op:OP");
  NodeSelector selector(kind, pattern, text);
  if (kind == Kind::Name) {
    TRY(std::regex regex, compile_regex(pattern));
    selector.matches_name_ = [regex = std::move(regex)](std::string_view name) {
      return std::regex_match(name.begin(), name.end(), regex);
    };
  }
  return selector;
}

bool NodeSelector::selects(const Node& node) const {
  switch (kind_) {
    case Kind::Module:
      return is_in_module(node, pattern_);
    case Kind::Node:
      return std::ranges::any_of(node.results(),
                                 [&](const Value* value) { return value->name() == pattern_; });
    case Kind::Name:
      return std::ranges::any_of(node.results(),
                                 [&](const Value* value) { return matches_name_(value->name().str()); });
    case Kind::Op:
      return has_parts(node.op().str(), pattern_) ||
             (node.source != nullptr && has_parts(node.source->original_op.str(), pattern_));
  }
  std::unreachable();
}

bool NodeSelector::selects_input(const Value& input, std::string_view key) const {
  switch (kind_) {
    case Kind::Module:
      return !key.empty() && is_below(key, pattern_);
    case Kind::Node:
      return input.name() == pattern_;
    case Kind::Name:
      return matches_name_(input.name().str());
    case Kind::Op:
      return false;
  }
  std::unreachable();
}

bool NodeSelector::selects_any(const Program& program) const {
  for (const auto& method : program.methods) {
    for (const Value* input : method->graph->inputs()) {
      const InputSpec& spec = *input_spec(*method, *input);
      if (selects_input(*input, spec.has_data() ? spec.target.str() : std::string_view())) return true;
    }
  }
  return any_node(program, [&](const Node& node) { return selects(node); });
}

bool NodeSelector::may_select_nothing() const {
  return kind_ == Kind::Op &&
         std::ranges::any_of(all_ops(), [&](const OpDef* op) { return has_parts(op->name.str(), pattern_); });
}

std::string NodeSelector::meant_name(const Program& program, std::string_view otherwise) const {
  std::set<std::string> names;
  any_node(program, [&](const Node& node) {
    switch (kind_) {
      case Kind::Module:
        if (node.source != nullptr) add_runs_of_parts(node.source->module_path.str(), true, names);
        break;
      case Kind::Node:
        for (const Value* value : node.results()) names.emplace(value->name().str());
        break;
      case Kind::Op:
        add_runs_of_parts(node.op().str(), false, names);
        if (node.source != nullptr) add_runs_of_parts(node.source->original_op.str(), false, names);
        break;
      case Kind::Name:
        break;
    }
    return false;
  });
  const std::vector<std::string> known(names.begin(), names.end());
  return did_you_mean(pattern_, known, otherwise);
}

Status Pins::add(Rule rule, std::string_view selector) {
  TRY(NodeSelector parsed, NodeSelector::parse(selector));
  (rule == Rule::Only ? only_ : off_).push_back(std::move(parsed));
  return {};
}

std::optional<std::string> Pins::off_pin_of(const Node& node) const {
  auto pin = std::ranges::find_if(off_, [&](const NodeSelector& selector) { return selector.selects(node); });
  if (pin == off_.end()) return std::nullopt;
  return "off=" + pin->text();
}

std::optional<std::string> Pins::pin_of(const Node& node) const {
  if (auto pin = off_pin_of(node)) return pin;
  const auto selects = [&](const NodeSelector& selector) { return selector.selects(node); };
  if (!only_.empty() && std::ranges::none_of(only_, selects)) {
    std::string text;
    for (const NodeSelector& selector : only_) text += (text.empty() ? "only=" : ",only=") + selector.text();
    return text;
  }
  if (off_.empty() || !has_bodies(node)) return std::nullopt;
  for (const Graph* body : graphs_below(node)) {
    for (const Node& inner : body->nodes()) {
      if (auto pin = off_pin_of(inner)) return pin;
    }
  }
  return std::nullopt;
}

Status Pins::check_known(const Program& program) const {
  for (const auto* selectors : {&only_, &off_}) {
    for (const NodeSelector& selector : *selectors) {
      if (selector.may_select_nothing()) continue;
      if (any_node(program, [&](const Node& node) { return selector.selects(node); })) continue;
      return failure("partition", selector.text(), "this pin selects no node",
                     selector.meant_name(program, "`depute explain` lists the nodes with their modules"));
    }
  }
  return {};
}

}  // namespace depute
