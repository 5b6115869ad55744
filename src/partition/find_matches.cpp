#include <algorithm>
#include <unordered_map>
#include <utility>

#include "depute/backend/pattern.h"
#include "depute/program/op.h"
#include "ir/node_order.h"
#include "partition/tag_data.h"

namespace depute {
namespace {

// The arguments of a node, by position in its op's schema if the op has one.
class Call {
 public:
  // A call that does not fit its schema matches no pattern.
  explicit Call(const Node& node) : node_(node) {
    if (node.def() == nullptr) return;
    is_sound_ = check_call(node).has_value();
    if (is_sound_) schema_call_.emplace(node);
  }

  bool is_sound() const { return is_sound_; }
  bool has_schema() const { return schema_call_.has_value(); }
  std::size_t argument_count() const {
    return schema_call_ ? schema_call_->args().size() : node_.args().size();
  }

  // Null if the node has no such argument.
  const Argument* argument(const Pattern::Constraint& constraint) const {
    if (constraint.keyword.empty())
      return constraint.position < argument_count() ? &at(constraint.position) : nullptr;
    const auto named = std::ranges::find(node_.kwargs(), constraint.keyword, &NamedArgument::name);
    return named == node_.kwargs().end() ? nullptr : &named->value;
  }
  const Argument& at(std::size_t position) const {
    return schema_call_ ? (*schema_call_)[position] : node_.arg(position);
  }
  const Argument& default_of(std::size_t position) const {
    static const Argument none = Argument::none();
    const auto& value = schema_call_->def().args[position].default_value;
    return value ? *value : none;
  }

 private:
  const Node& node_;
  bool is_sound_ = true;
  std::optional<OpCall> schema_call_;
};

bool same_number(const Argument& a, const Argument& b) {
  if ((a.kind == Argument::Kind::Bool) != (b.kind == Argument::Kind::Bool)) return false;
  if (a.kind == Argument::Kind::Float || b.kind == Argument::Kind::Float)
    return a.as_double() == b.as_double();
  return a.as_int() == b.as_int();
}

// Maps the symbolic sizes of a pattern to sizes of the match.
class SizeNames {
 public:
  bool agree(const Type& pattern, const Type& type) {
    if (pattern.kind == Type::Kind::None) return true;
    if (pattern.kind != type.kind) return false;
    if (!pattern.is_tensor()) return true;
    const TensorType& a = pattern.tensor;
    const TensorType& b = type.tensor;
    if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
    if (!a.strides.empty() && a.strides != b.strides) return false;
    for (std::size_t i = 0; i < a.rank(); ++i) {
      if (!agree(a.sizes[i], b.sizes[i])) return false;
    }
    return true;
  }

 private:
  bool agree(const SymInt& pattern, const SymInt& size) {
    if (pattern.is_constant()) return pattern == size;
    return sizes_.emplace(pattern.expr()->name, size).first->second == size;
  }

  std::unordered_map<Name, SymInt> sizes_;
};

// Tries one pattern at one node after another.
class Matcher {
 public:
  Matcher(const Method& method, std::span<const InputData> data, const NodeOrder& order,
          const Pattern& pattern, const std::vector<std::uint8_t>& is_taken)
      : method_(method), data_(data), order_(order), pattern_(pattern), is_taken_(is_taken) {}

  // Returns the match whose last node is `last`.
  std::optional<PatternMatch> match_at(const Node& last) {
    steps_left_ = max_match_steps;
    nodes_.assign(pattern_.nodes().size(), nullptr);
    values_.clear();
    literals_.clear();
    trail_.clear();
    if (!try_node(0, last)) return std::nullopt;
    PatternMatch match{.pattern = 0, .nodes = nodes_, .inputs = {}, .literals = {}};
    for (const Value* input : pattern_.method().graph->inputs()) {
      match.inputs.push_back(bound(*input));
      auto literal = literals_.find(input);
      match.literals.push_back(literal == literals_.end() ? Argument::none() : literal->second);
    }
    return match;
  }

 private:
  const Value* bound(const Value& pattern_value) const {
    auto found = values_.find(&pattern_value);
    return found == values_.end() ? nullptr : found->second;
  }

  bool match_from(std::size_t step) {
    if (step == pattern_.steps().size()) return is_complete();
    const Pattern::Step& next = pattern_.steps()[step];
    if (next.made != nullptr) {
      const Node* producer = bound(*next.made)->producer();
      return producer != nullptr && try_node(step, *producer);
    }
    for (const Node* user : users_of(*bound(*next.used), pattern_.nodes()[next.node].node->op())) {
      if (try_node(step, *user)) return true;
    }
    return false;
  }

  std::vector<const Node*> users_of(const Value& value, Name op) const {
    std::vector<const Node*> users;
    std::size_t looked_at = 0;
    for (const Use& use : value.uses()) {
      if (++looked_at > max_match_users) break;
      if (!use.user()->is_return() && use.user()->op() == op) users.push_back(use.user());
    }
    std::ranges::sort(users, {}, [&](const Node* node) { return order_[*node]; });
    users.erase(std::unique(users.begin(), users.end()), users.end());
    return users;
  }

  // Binds the step's pattern node to `node` and continues with the next step.
  bool try_node(std::size_t step, const Node& node) {
    const std::size_t number = pattern_.steps()[step].node;
    const Pattern::PatternNode& wanted = pattern_.nodes()[number];
    if (steps_left_ == 0) return false;
    --steps_left_;
    if (node.op() != wanted.node->op() || is_taken_[node.id()] != 0) return false;
    if (std::ranges::find(nodes_, &node) != nodes_.end()) return false;
    const Call call(node);
    if (!call.is_sound()) return false;
    nodes_[number] = &node;
    for (const bool exchanged : {false, true}) {
      if (exchanged && !wanted.any_order) break;
      const std::size_t mark = trail_.size();
      if (unify(wanted, node, call, exchanged) && match_from(step + 1)) return true;
      forget_from(mark);
    }
    nodes_[number] = nullptr;
    return false;
  }

  void forget_from(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
      values_.erase(trail_.back());
      literals_.erase(trail_.back());
    }
  }

  bool unify(const Pattern::PatternNode& wanted, const Node& node, const Call& call, bool exchanged) {
    if (wanted.node->results().size() != node.results().size()) return false;
    for (std::size_t i = 0; i < node.results().size(); ++i) {
      if (!bind(*wanted.node->result(i), *node.result(i))) return false;
    }
    for (Pattern::Constraint constraint : wanted.constraints) {
      if (exchanged && constraint.keyword.empty() && constraint.position < 2)
        constraint.position = 1 - constraint.position;
      const Argument* argument = call.argument(constraint);
      if (argument == nullptr || !agree(*constraint.argument, *argument)) return false;
    }
    return wanted.open_rest || rest_is_default(wanted, node, call);
  }

  // True if all arguments that the pattern does not mention have their default value.
  bool rest_is_default(const Pattern::PatternNode& wanted, const Node& node, const Call& call) {
    if (!call.has_schema())
      return node.args().size() == wanted.positional && node.kwargs().size() == wanted.node->kwargs().size();
    for (std::size_t i = 0; i < call.argument_count(); ++i) {
      const bool is_mentioned = std::ranges::find(wanted.constraints, i, &Pattern::Constraint::position) !=
                                wanted.constraints.end();
      if (!is_mentioned && !agree(call.default_of(i), call.at(i))) return false;
    }
    return true;
  }

  bool agree(const Argument& wanted, const Argument& argument) {
    if (wanted.kind == Argument::Kind::Operator && wanted.as_symbol() == "match.any") return true;
    if (wanted.is_value() && is_literal_input(*wanted.as_value()) && !argument.is_value())
      return bind_literal(*wanted.as_value(), argument);
    if (wanted.is_number() && argument.is_number()) return same_number(wanted, argument);
    if (wanted.kind != argument.kind) return false;
    switch (wanted.kind) {
      case Argument::Kind::None:
        return true;
      case Argument::Kind::Value:
        return bind(*wanted.as_value(), *argument.as_value());
      case Argument::Kind::List:
        return std::ranges::equal(wanted.as_list(), argument.as_list(),
                                  [&](const Argument& a, const Argument& b) { return agree(a, b); });
      case Argument::Kind::Map:
        return std::ranges::equal(wanted.as_map(), argument.as_map(),
                                  [&](const NamedArgument& a, const NamedArgument& b) {
                                    return a.name == b.name && agree(a.value, b.value);
                                  });
      case Argument::Kind::Complex:
        return std::ranges::equal(wanted.as_list(), argument.as_list(), {}, &Argument::as_double,
                                  &Argument::as_double);
      case Argument::Kind::ScalarType:
      case Argument::Kind::MemoryFormat:
      case Argument::Kind::Layout:
        return wanted.as_int() == argument.as_int();
      case Argument::Kind::String:
      case Argument::Kind::Device:
      case Argument::Kind::Operator:
      case Argument::Kind::Delegate:
        return wanted.as_symbol() == argument.as_symbol();
      case Argument::Kind::Graph:
      case Argument::Kind::Int:
      case Argument::Kind::Float:
      case Argument::Kind::Bool:
        return false;  // patterns contain no graphs; numbers were compared above
    }
    std::unreachable();
  }

  bool bind_literal(const Value& input, const Argument& literal) {
    if (values_.contains(&input) || !is_literal_of(input.type().kind, literal)) return false;
    const auto [entry, is_new] = literals_.try_emplace(&input, literal);
    if (is_new) trail_.push_back(&input);
    return is_new || agree(entry->second, literal);
  }

  // An int literal also matches a float input.
  static bool is_literal_of(Type::Kind kind, const Argument& literal) {
    switch (kind) {
      case Type::Kind::Int:
        return literal.is_int();
      case Type::Kind::Float:
        return literal.is_int() || literal.kind == Argument::Kind::Float;
      case Type::Kind::Bool:
        return literal.kind == Argument::Kind::Bool;
      default:
        return literal.kind == Argument::Kind::String;
    }
  }

  bool bind(const Value& pattern_value, const Value& value) {
    if (literals_.contains(&pattern_value)) return false;
    const auto [entry, is_new] = values_.try_emplace(&pattern_value, &value);
    if (!is_new) return entry->second == &value;
    trail_.push_back(&pattern_value);
    const Node* producer = pattern_value.producer();
    if (producer == nullptr) return !needs_constant(pattern_value) || is_constant(value);
    return value.index() == pattern_value.index() && value.producer() != nullptr &&
           value.producer()->op() == producer->op();
  }

  bool needs_constant(const Value& input) const { return pattern_.method().inputs[input.index()].has_data(); }
  bool is_constant(const Value& value) const {
    return input_spec(method_, value) != nullptr && data_[value.index()] == InputData::Constant;
  }

  bool is_inside(const Node* node) const { return std::ranges::find(nodes_, node) != nodes_.end(); }

  // Final check once all nodes are bound. Types must agree, inputs must come from outside the match, and
  // inner values must not be used outside it.
  bool is_complete() const {
    SizeNames sizes;
    for (const Value* input : pattern_.method().graph->inputs()) {
      const Value* value = bound(*input);
      if (value == nullptr) continue;
      if (!sizes.agree(input->type(), value->type())) return false;
      if (value->producer() != nullptr && is_inside(value->producer())) return false;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const Value* result : pattern_.nodes()[i].node->results()) {
        if (!sizes.agree(result->type(), bound(*result)->type())) return false;
        if (!is_returned(*result) && is_used_outside(*bound(*result))) return false;
      }
    }
    return true;
  }

  static bool is_returned(const Value& pattern_value) {
    return std::ranges::any_of(pattern_value.uses(), [](const Use& use) { return use.user()->is_return(); });
  }
  bool is_used_outside(const Value& value) const {
    return std::ranges::any_of(value.uses(), [&](const Use& use) { return !is_inside(use.user()); });
  }

  const Method& method_;
  std::span<const InputData> data_;
  const NodeOrder& order_;
  const Pattern& pattern_;
  const std::vector<std::uint8_t>& is_taken_;  // by node id
  std::vector<const Node*> nodes_;             // by pattern node
  std::unordered_map<const Value*, const Value*> values_;
  std::unordered_map<const Value*, Argument> literals_;  // literals that pattern inputs are bound to
  std::vector<const Value*> trail_;                      // keys of both maps, oldest first
  std::size_t steps_left_ = 0;
};

}  // namespace

std::vector<PatternMatch> find_matches(const Method& method, const Graph& graph,
                                       std::span<const Pattern> patterns) {
  const NodeOrder order(graph);
  std::vector<std::uint8_t> is_taken(graph.node_ids(), 0);
  std::unordered_map<Name, std::vector<const Node*>> nodes_by_op;
  for (const Node& node : graph.nodes()) nodes_by_op[node.op()].push_back(&node);
  const std::vector<InputData> data = input_data(method);
  std::vector<PatternMatch> matches;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    auto candidates = nodes_by_op.find(patterns[i].nodes().back().node->op());
    if (candidates == nodes_by_op.end()) continue;
    Matcher matcher(method, data, order, patterns[i], is_taken);
    for (const Node* node : candidates->second) {
      std::optional<PatternMatch> match = matcher.match_at(*node);
      if (!match) continue;
      match->pattern = i;
      for (const Node* member : match->nodes) is_taken[member->id()] = 1;
      matches.push_back(std::move(*match));
    }
  }
  return matches;
}

}  // namespace depute
