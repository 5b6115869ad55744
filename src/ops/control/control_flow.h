// Reads nodes that run graphs, in one way for all four ops.
//
//   %y = higher_order.cond(%p, @yes, @no, [%x])                predicate p, operands x
//   %c = higher_order.while_loop(@test, @body, [%a], [%x])     carried a, operands x
//   %y = higher_order.map_impl(@body, [%xs], [%x])             mapped xs, operands x
//   %c, %y = higher_order.scan(@body, [%a], [%xs], [%x])       carried a, mapped xs, operands x
//
// Every body takes the carried values, one element of each mapped tensor, and the operands, in this order.
// Operands are equal in all iterations. For every op they are the last list and the last inputs.
#pragma once

#include <optional>
#include <span>

#include "depute/program/graph.h"
#include "depute/program/result.h"
#include "depute/program/small_vector.h"

namespace depute {

struct ControlFlow {
  enum class Kind { Cond, WhileLoop, Map, Scan };
  Kind kind = Kind::Cond;
  Argument predicate;                   // Cond
  SmallVector<const Graph*, 2> bodies;  // Cond: the true and the false branch; WhileLoop: test, body
  std::span<const Argument> carried;    // WhileLoop, Scan
  std::span<const Argument> mapped;     // Map, Scan: tensors, sliced along their first dimension
  std::span<const Argument> operands;

  // Returns the graph that computes the results; for a loop, the body of an iteration.
  const Graph& body() const { return *bodies.back(); }
};

// Maximum nesting of bodies.
inline constexpr std::size_t max_body_depth = 32;

bool is_control_flow(const Node& node);
std::optional<ControlFlow::Kind> control_flow_kind(const Node& node);  // nullopt for other nodes
// True for integers, floats and bools: the only results of control flow besides tensors.
bool is_number(Type::Kind kind);

// True if a value can be passed as this type: equal element types and ranks, and sizes that agree as far as
// they are known.
bool fits_type(const Argument& given, const Type& wanted);

// Fails for a node whose bodies do not accept its operands, or do not return its results. The message starts
// with the reason.
Result<ControlFlow> read_control_flow(const Node& node);

}  // namespace depute
