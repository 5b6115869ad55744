// Simplifies sizes by the ranges of their symbols. Learns ranges from assertions and from ops that select
// elements of a tensor.
//
//   dim s0 in [2, 24]
//   %y: f32[Max(1, s0)] = ...                                        %y: f32[s0] = ...
//
//   %e: sym_bool[Eq(u0 + u1, 16)] = _operator.eq(%s, 16)      ->     dim "u0 + u1" in [16, 16]
//   %_ = aten._assert_scalar.default(%e, ...)
//   %z: f32[u0 + u1, 8] = aten.cat.default(...)                      %z: f32[16, 8] = ...
//
// Two symbols that are asserted to be equal are merged:
//
//   %e: sym_bool[Eq(u0, u1)] = _operator.eq(%a, %b)           ->     dim "u0 - u1" in [0, 0]
//   %_ = aten._assert_scalar.default(%e, ...)
//   %z: f32[u1] = ...                                                %z: f32[u0] = ...
//
// torch rejects inputs that fail an assertion, and the runtime may do the same.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "ir/sym/replace_symbols.h"
#include "ir/sym/size_facts.h"
#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"
#include "ir/sym/sym_intervals.h"
#include "normalize/passes.h"
#include "support/try.h"

namespace depute {
namespace {

// Returns the range of numbers in this relation to `number`; the full range for other functions.
Range range_of_relation(SymFunction relation, std::int64_t number) {
  Range range;
  const bool is_above = relation == SymFunction::Eq || relation == SymFunction::Ge;
  const bool is_below = relation == SymFunction::Eq || relation == SymFunction::Le;
  if (is_above) range.min = number;
  if (is_below) range.max = number;
  if (relation == SymFunction::Gt && number < Range::max_bound - 1) range.min = number + 1;
  if (relation == SymFunction::Lt && number > Range::min_bound + 1) range.max = number - 1;
  return range;
}

// Narrows `known`; ignores a contradiction.
void narrow(Range& known, const Range& implied) {
  const Range both{std::max(known.min, implied.min), std::min(known.max, implied.max)};
  if (both.min <= both.max) known = both;
}

// `left relation right`, which an assertion says of two integers. A number stands on the right.
struct Relation {
  const SymExpr* left;
  SymFunction function;
  const SymExpr* right;
};

// Returns the relation with its sides exchanged: a < b is b > a.
Relation turned(const Relation& relation) {
  const auto function = [&] {
    switch (relation.function) {
      case SymFunction::Lt:
        return SymFunction::Gt;
      case SymFunction::Le:
        return SymFunction::Ge;
      case SymFunction::Gt:
        return SymFunction::Lt;
      case SymFunction::Ge:
        return SymFunction::Le;
      default:
        return relation.function;
    }
  };
  return {relation.right, function(), relation.left};
}

std::optional<Relation> asserted_relation(const Node& assertion) {
  if (assertion.args().empty() || !assertion.args()[0].is_value()) return std::nullopt;
  const Type& type = assertion.args()[0].as_value()->type();
  const bool is_call = type.kind == Type::Kind::SymBool && type.expr != nullptr &&
                       type.expr->kind == SymExpr::Kind::Call && type.expr->args.size() == 2;
  if (!is_call || range_of_relation(type.expr->function, 0) == Range{}) return std::nullopt;
  const Relation relation{type.expr->args[0], type.expr->function, type.expr->args[1]};
  if (sym::may_be_fractional(relation.left) || sym::may_be_fractional(relation.right)) return std::nullopt;
  return relation.left->kind == SymExpr::Kind::Int ? turned(relation) : relation;
}

// Records the range of the left side if the right side is a number, else the range of their difference.
void learn(const Relation& relation, Ranges& ranges) {
  if (relation.right->kind == SymExpr::Kind::Int) {
    const Range implied = range_of_relation(relation.function, relation.right->int_value);
    if (implied != Range{}) narrow(ranges[str(relation.left)], implied);
    return;
  }
  const SymInt difference = SymInt(relation.left) - SymInt(relation.right);
  if (!difference.is_constant()) narrow(ranges[difference.str()], range_of_relation(relation.function, 0));
}

// Narrows the range of a symbol on the left side by the bounds of the right side.
void learn_symbol(const Relation& relation, const sym::Bounder& bounder, Ranges& ranges) {
  if (relation.left->kind != SymExpr::Kind::Symbol) return;
  const Range other = bounder.of(relation.right);
  Range implied;
  if (other.min != Range::min_bound) implied.min = range_of_relation(relation.function, other.min).min;
  if (other.max != Range::max_bound) implied.max = range_of_relation(relation.function, other.max).max;
  if (implied != Range{}) narrow(ranges[std::string(relation.left->name.str())], implied);
}

SymInt elements_of(const Argument& argument) {
  if (argument.is_value() && argument.as_value()->type().is_tensor())
    return argument.as_value()->tensor().numel();
  SymInt most = 0;
  if (argument.is_list()) {
    for (const Argument& element : argument.as_list()) most = sym_max(most, elements_of(element));
  }
  return most;
}

bool is_operand_size(const Node& node, const SymInt& size) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Type& type = node.operand(i)->type();
    if (type.is_tensor() && std::ranges::count(type.tensor.sizes, size) > 0) return true;
  }
  return false;
}

// Bounds the sizes of data-dependent results (nonzero) by the number of elements that they are taken from.
void learn_choice(const Node& node, const sym::Bounder& bounder, Ranges& ranges) {
  if (!check_call(node)) return;
  const SymInt all = elements_of(OpCall(node)[node.def()->data_dependent_size.str()]);
  const std::int64_t most = bounder.of(all.expr()).max;
  for (const Value* result : node.results()) {
    if (!result->type().is_tensor()) continue;
    for (const SymInt& size : result->tensor().sizes) {
      const bool is_symbol = !size.is_constant() && size.expr()->kind == SymExpr::Kind::Symbol;
      if (!is_symbol || is_operand_size(node, size)) continue;
      narrow(ranges[std::string(size.expr()->name.str())], {.min = 0, .max = most});
    }
  }
}

// Learns from the methods' own graphs: bodies may not run.
void learn_ranges(Program& program) {
  std::vector<Relation> relations;
  std::vector<const Node*> choices;
  for (const auto& method : program.methods) {
    for (const Node& node : method->graph->nodes()) {
      if (node.def() == nullptr) continue;
      if (!node.def()->data_dependent_size.empty()) choices.push_back(&node);
      if (!node.def()->is(OpFlag::Assertion)) continue;
      if (const auto relation = asserted_relation(node)) relations.push_back(*relation);
    }
  }
  for (const Relation& relation : relations) learn(relation, program.ranges);
  const sym::Bounder bounder(program.ranges);
  for (const Relation& relation : relations) {
    learn_symbol(relation, bounder, program.ranges);
    learn_symbol(turned(relation), bounder, program.ranges);
  }
  for (const Node* choice : choices) learn_choice(*choice, bounder, program.ranges);
}

bool is_symbol(const SymExpr* expr) {
  return expr->kind == SymExpr::Kind::Symbol;
}

// Returns the two symbols if the key of a range is their difference.
std::optional<std::pair<std::string, std::string>> difference_of_symbols(const std::string& key) {
  if (key.find('-') == std::string::npos) return std::nullopt;
  const auto expr = parse_sym(key);
  if (!expr || (*expr)->kind != SymExpr::Kind::Call || (*expr)->function != SymFunction::Add ||
      (*expr)->args.size() != 2)
    return std::nullopt;
  const SymExpr *a = (*expr)->args[0], *b = (*expr)->args[1];
  if (!is_symbol(a)) std::swap(a, b);
  const SymExpr* other = (SymInt(b) * SymInt(-1)).expr();
  if (!is_symbol(a) || !is_symbol(other)) return std::nullopt;
  return std::pair(std::string(a->name.str()), std::string(other->name.str()));
}

// Chooses one name for equal symbols: that of an input's size, otherwise the first in text order.
class UnitedSymbols {
 public:
  explicit UnitedSymbols(const Program& program) {
    for (const auto& method : program.methods) {
      for (const Value* input : method->graph->inputs()) {
        if (!input->type().is_tensor()) continue;
        for (const SymInt& size : input->tensor().sizes) {
          if (!size.is_constant() && is_symbol(size.expr())) of_inputs_.emplace(size.expr()->name.str());
        }
      }
    }
  }

  std::string name_of(std::string name) const {
    for (auto next = names_.find(name); next != names_.end(); next = names_.find(name)) name = next->second;
    return name;
  }

  void unite(const std::string& a, const std::string& b) {
    std::string kept = name_of(a), other = name_of(b);
    if (kept == other) return;
    const auto order = [&](const std::string& name) { return std::pair(!of_inputs_.contains(name), name); };
    if (order(other) < order(kept)) std::swap(kept, other);
    names_.emplace(std::move(other), std::move(kept));
  }

  const std::map<std::string, std::string, std::less<>>& replaced() const { return names_; }

 private:
  std::map<std::string, std::string, std::less<>> names_;
  std::set<std::string, std::less<>> of_inputs_;
};

template <typename Visit>
void for_each_value(Graph& graph, Visit&& visit) {
  for (Value* input : graph.inputs()) visit(*input);
  for (Node& node : graph.nodes()) {
    for (Value* result : node.results()) visit(*result);
  }
}

// Merges equal symbols in all types, and intersects their ranges.
Status unite_equal_symbols(Program& program) {
  UnitedSymbols names(program);
  for (const auto& [key, range] : program.ranges) {
    if (range != Range{.min = 0, .max = 0}) continue;
    if (const auto pair = difference_of_symbols(key)) names.unite(pair->first, pair->second);
  }
  if (names.replaced().empty()) return {};
  for (const auto& [name, _] : names.replaced()) {
    const auto implied = program.ranges.find(name);
    if (implied == program.ranges.end()) continue;
    const Range range = implied->second;
    narrow(program.ranges[names.name_of(name)], range);
  }
  const auto replacement = [&](std::string_view name) {
    return sym_symbol(names.name_of(std::string(name)));
  };
  return for_each_graph(program, [&](Method&, Graph& graph) -> Status {
    for_each_value(graph, [&](Value& value) {
      Type type = replace_symbols(value.type(), replacement);
      if (!(type == value.type())) graph.set_type(value, std::move(type));
    });
    return {};
  });
}

// Restores (a // b) // c, which torch writes as a // (b*c). The two differ for negative c: 3 // 5 // -8 is 0.
void correct_quotients(const Graph& graph, SizeFacts& facts) {
  for (const Node& node : graph.nodes()) {
    if (sym::function_of_op(node.op().str()) != SymFunction::FloorDiv || !check_call(node)) continue;
    const Type& type = node.result()->type();
    const bool is_number = type.kind == Type::Kind::SymInt && type.expr != nullptr;
    if (!is_number || !node.args()[0].is_value()) continue;
    const SymExpr* dividend = facts.simplify(as_sym_int(node.args()[0]).expr());
    const SymInt divisor = as_sym_int(node.args()[1]);
    if (!sym::is_call(dividend, SymFunction::FloorDiv) || facts.range_of(divisor.expr()).min >= 0) continue;
    const SymInt quotient = floor_div(SymInt(dividend), divisor);
    if (quotient.expr() != type.expr) facts.equate(type.expr, quotient.expr());
  }
}

}  // namespace

// Afterwards no size has a part that the ranges of its symbols make redundant.
Status simplify_sizes(Program& program, const NormalizeOptions&) {
  learn_ranges(program);
  TRY_STATUS(unite_equal_symbols(program));
  SizeFacts facts(program.ranges);
  TRY_STATUS(for_each_graph(program, [&](Method&, Graph& graph) -> Status {
    correct_quotients(graph, facts);
    return {};
  }));
  return for_each_graph(program, [&](Method&, Graph& graph) -> Status {
    for_each_value(graph, [&](Value& value) {
      Type type = value.type();
      if (facts.simplify(type)) graph.set_type(value, std::move(type));
    });
    return {};
  });
}

}  // namespace depute
