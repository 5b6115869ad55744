// Executes plans as the runtime would, on cells instead of floats: an op mixes the cells it reads, so that
// what shares memory wrongly gives other results.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plan/plan.h"

namespace depute::state_testing {

using Cells = std::vector<std::uint64_t>;  // one per f32 element

Cells negated(const Cells& x);
Cells sum(const Cells& x, const Cells& y);
Cells part(const Cells& x, std::size_t first, std::size_t count);
Cells overwritten(Cells x, std::size_t first, const Cells& y);
// The elements of a dense f32 tensor.
Cells cells_of(const TensorData& data);

// The planned memories, by memory_id, that all methods of a program share.
class Memory {
 public:
  explicit Memory(const Plan& plan);
  // What running another method may do: everything but the state is gone.
  void spoil_arena(std::uint64_t seed);
  std::vector<Cells> by_id;
};

class Machine {
 public:
  // Sets the state that the method has to its initial values, as loading a method does.
  Machine(const Plan& plan, const ExecutionPlan& method, Memory& memory);
  // The outputs; `inputs` become what the method writes to those that are not planned.
  std::vector<Cells> run(std::vector<Cells>& inputs);

 private:
  const PlanTensor& tensor(std::int64_t index) const;
  std::span<std::uint64_t> cells(std::int64_t index);
  Cells load(std::int64_t index);
  void store(std::int64_t index, const Cells& values);
  std::int64_t number(std::int32_t index) const;
  void expect_order_does_not_matter(std::int32_t in, std::int32_t out, bool may_be_same);
  void execute(const Instruction& instruction);
  void call(const std::string& op, std::span<const std::int32_t> args);

  const ExecutionPlan& method_;
  Memory& memory_;
  std::map<std::int64_t, Cells> callers_;       // constants and tensors without a place, by value
  std::map<std::int64_t, std::int64_t> views_;  // of those: the value they look at
};

}  // namespace depute::state_testing
