// Tensors of integers and bools whose elements follow from their indices: ranges, masks of ones, counts of ones.
//
//   %a: i64[s] = aten.arange.start_step(0, %s)             element [i] is i
//   %b: i64[n, s] = aten.expand.default(%a, [%n, -1])      element [j, i] is i
//   %c: bool[n, s] = aten.ge.Scalar(%b, 0)                 every element is 1
//
// Facts hold for all sizes within the ranges of the program's symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "depute/program/op.h"
#include "depute/program/program.h"

namespace depute {

// Element [i, j, ..] is start + steps[0] * i + steps[1] * j + ..; there is one step for each dimension.
struct Positions {
  SymInt start;
  std::vector<std::int64_t> steps;

  bool is_uniform() const;
  // The only dimension with a step, or nullopt if none or several have one.
  std::optional<std::size_t> only_dim() const;
};

class PositionFacts {
 public:
  // A body of control flow has no known constants: its node decides what its inputs are.
  PositionFacts(const Program& program, const Method& method, const Graph& graph)
      : program_(&program), method_(&graph == method.graph.get() ? &method : nullptr) {}

  // Returns what is known of a value, from find() or from the constant that it holds.
  const Positions* of(const Value& value);
  // Returns what the elements of the node's result are, from the facts of its operands.
  std::optional<Positions> find(const Node& node);
  void add(const Value& value, Positions positions) { facts_.insert_or_assign(&value, std::move(positions)); }

  // Returns the data of a value that is a constant of the program, or null.
  const TensorData* constant(const Value& value) const;

  // Returns the bounds of all elements of a tensor with these sizes.
  Range range_of(const Positions& positions, const Dims& sizes) const;

 private:
  std::optional<Positions> find_unbounded(const Node& node);
  std::optional<Positions> of_constant(const Value& value) const;
  // Returns a tensor, or any operand of a pointwise op, broadcast to `rank`.
  std::optional<Positions> broadcast(const Value& value, std::size_t rank);
  std::optional<Positions> operand(const Argument& argument, std::size_t rank);
  std::optional<Positions> arithmetic(const OpCall& call);
  std::optional<Positions> comparison(const OpCall& call);
  std::optional<Positions> logic(const OpCall& call);
  std::optional<Positions> view(const OpCall& call);
  std::optional<Positions> joined(const OpCall& call);
  std::optional<Positions> indexed(const OpCall& call);
  std::optional<Positions> reduced(const OpCall& call);
  std::optional<Positions> difference(const OpCall& call);

  const Program* program_;
  const Method* method_;  // null in a body
  std::unordered_map<const Value*, std::optional<Positions>> facts_;
};

}  // namespace depute
