// Nodes that run graphs, taken apart in one way for all four ops.
//
//   %y = higher_order.cond(%p, @yes, @no, [%x])                predicate p, operands x
//   %c = higher_order.while_loop(@test, @body, [%a], [%x])     carried a, operands x
//   %y = higher_order.map_impl(@body, [%xs], [%x])             mapped xs, operands x
//   %c, %y = higher_order.scan(@body, [%a], [%xs], [%x])       carried a, mapped xs, operands x
//
// Every body takes what is carried, one element of what is mapped, and the operands, in this order. The
// operands are the same in all turns of a loop; whatever the op, they are the last list and the last inputs.
#pragma once

#include <optional>
#include <span>

#include "depute/graph.h"
#include "depute/result.h"
#include "depute/small_vector.h"

namespace depute {

struct ControlFlow {
  enum class Kind { Cond, WhileLoop, Map, Scan };
  Kind kind = Kind::Cond;
  Argument predicate;                   // Cond
  SmallVector<const Graph*, 2> bodies;  // Cond: taken when true, when false; WhileLoop: test, body
  std::span<const Argument> carried;    // WhileLoop, Scan
  std::span<const Argument> mapped;     // Map, Scan: tensors, cut along their first dimension
  std::span<const Argument> operands;

  // The graph that gives the results: of a loop, what is run in each turn.
  const Graph& body() const { return *bodies.back(); }
};

// Bodies inside bodies that are accepted.
inline constexpr std::size_t max_body_depth = 32;

bool is_control_flow(const Node& node);
std::optional<ControlFlow::Kind> control_flow_kind(const Node& node);  // nothing for another node
// Of values beside tensors, control flow gives numbers: integers, floats and truth values.
bool is_number(Type::Kind kind);

// What is passed on may be taken as that type: element types and ranks are the same, and so are the sizes, as
// far as they are known.
bool fits_type(const Argument& given, const Type& wanted);

// Fails for a node whose bodies do not take what they are given, or do not give the node's results. The
// message starts with the reason.
Result<ControlFlow> read_control_flow(const Node& node);

}  // namespace depute
