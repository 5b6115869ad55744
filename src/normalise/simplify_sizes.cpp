// Writes sizes as simply as the ranges of their symbols allow, and learns ranges from assertions and from ops
// that choose some of a tensor's elements.
//
//   dim s0 in [2, 24]
//   %y: f32[Max(1, s0)] = ...                                        %y: f32[s0] = ...
//
//   %e: sym_bool[Eq(u0 + u1, 16)] = _operator.eq(%s, 16)      ->     dim "u0 + u1" in [16, 16]
//   %_ = aten._assert_scalar.default(%e, ...)
//   %z: f32[u0 + u1, 8] = aten.cat.default(...)                      %z: f32[16, 8] = ...
//
// torch refuses inputs for which an assertion does not hold, and so may the runtime.
#include <algorithm>

#include "depute/op.h"
#include "ir/size_facts.h"
#include "ir/walk.h"
#include "normalise/passes.h"

namespace depute {
namespace {

// The numbers that a relation to `number` leaves; everything for another function.
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

// What contradicts what is known tells nothing.
void narrow(Range& known, const Range& told) {
  const Range both{std::max(known.min, told.min), std::min(known.max, told.max)};
  if (both.min <= both.max) known = both;
}

// From an assertion of `expr relation number`.
void learn(const Node& assertion, Ranges& ranges) {
  if (assertion.args().empty() || !assertion.args()[0].is_value()) return;
  const Type& type = assertion.args()[0].as_value()->type();
  const bool is_relation = type.kind == Type::Kind::SymBool && type.expr != nullptr &&
                           type.expr->kind == SymExpr::Kind::Call && type.expr->args.size() == 2 &&
                           type.expr->args[0]->kind != SymExpr::Kind::Int &&
                           type.expr->args[1]->kind == SymExpr::Kind::Int;
  if (!is_relation) return;
  const Range told = range_of_relation(type.expr->function, type.expr->args[1]->int_value);
  if (told == Range{}) return;
  narrow(ranges[str(type.expr->args[0])], told);
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

// What is chosen of a tensor's elements is at most all of them.
void learn_choice(const Node& node, Ranges& ranges) {
  if (!check_call(node)) return;
  const SymInt all = elements_of(OpCall(node)[node.def()->chosen_from.str()]);
  const std::int64_t most = bounds(all, ranges).max;
  for (const Value* result : node.results()) {
    if (!result->type().is_tensor()) continue;
    for (const SymInt& size : result->tensor().sizes) {
      const bool is_symbol = !size.is_constant() && size.expr()->kind == SymExpr::Kind::Symbol;
      if (!is_symbol || is_operand_size(node, size)) continue;
      narrow(ranges[std::string(size.expr()->name.str())], {.min = 0, .max = most});
    }
  }
}

template <typename Visit>
void for_each_value(Graph& graph, Visit&& visit) {
  for (Value* input : graph.inputs()) visit(*input);
  for (Node& node : graph.nodes()) {
    for (Value* result : node.results()) visit(*result);
  }
}

}  // namespace

// Afterwards no size of a value has a part that the ranges of its symbols make superfluous.
Status simplify_sizes(Program& program, const NormaliseOptions&) {
  for (const auto& method : program.methods) {  // not from bodies, which may not run
    for (const Node& node : method->graph->nodes()) {
      if (node.def() == nullptr) continue;
      if (node.def()->is(OpFlag::drop)) learn(node, program.ranges);
      if (!node.def()->chosen_from.empty()) learn_choice(node, program.ranges);
    }
  }
  SizeFacts facts(program.ranges);
  return for_each_graph(program, [&](Method&, Graph& graph) -> Status {
    for_each_value(graph, [&](Value& value) {
      Type type = value.type();
      if (facts.simplify(type)) graph.set_type(value, std::move(type));
    });
    return {};
  });
}

}  // namespace depute
