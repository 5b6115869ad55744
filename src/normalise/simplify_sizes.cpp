// Writes sizes as simply as the ranges of their symbols allow, and learns ranges from assertions.
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
  Range& known = ranges[str(type.expr->args[0])];
  const Range both{std::max(known.min, told.min), std::min(known.max, told.max)};
  if (both.min <= both.max) known = both;
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
  if (program.ranges.empty()) return {};
  for (const auto& method : program.methods) {  // not from bodies, which may not run
    for (const Node& node : method->graph->nodes()) {
      if (node.def() != nullptr && node.def()->is(OpFlag::drop)) learn(node, program.ranges);
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
