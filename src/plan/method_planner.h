// Turns the nodes of one method into values and instructions; make_plan() uses one per method.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "ir/delegate_index.h"
#include "ir/sym/sym_intervals.h"
#include "plan/constants.h"
#include "plan/equal_delegates.h"
#include "plan/kernels.h"
#include "plan/memory/placement.h"
#include "plan/plan.h"
#include "plan/value_pool.h"

namespace depute::internal {

// One argument of a kernel. The type of `def` decides the kind of the value in the call: the runtime aborts on a
// kind that is not the kernel's C++ type.
struct KernelArg {
  const ArgDef* def = nullptr;
  std::size_t source = 0;   // index of the node's argument
  bool is_written = false;  // donated: the kernel writes its last results to it
};

enum class KernelResult : std::uint8_t {
  Tensors,     // one tensor each, passed along
  TensorList,  // one list of tensors, passed along
  Value,       // a number that the kernel returns
};

// How an op calls its kernel.
struct KernelUse {
  std::int32_t op_index = 0;
  std::vector<KernelArg> args;
  KernelResult result = KernelResult::Tensors;
  std::size_t result_count = 1;  // Tensors: number of tensors
};

// Kernels that some runtimes lack.
struct NeededKernels {
  std::set<std::string> python_modules;  // modules that register such kernels
  std::set<std::string> own_kernels;     // kernels that the application registers
};

// An if or a loop whose end is still to come.
struct OpenMark {
  std::int32_t begin = 0;    // the first instruction of a loop
  std::int32_t exit = -1;    // the jump to the instruction behind it or to the else part; -1: none
  bool else_is_due = false;  // the else part has begun and has no instruction yet
};

// Returns the EValue kind of a number of this type; Null for other types.
EValue::Kind scalar_kind(Type::Kind kind);

// State that the planners of all methods share. The program's delegates are indexed once, not for each method.
struct SharedPlanning {
  ConstantPool constants;
  NeededKernels needed;
  DelegateIndex delegates;
  StatefulDelegates stateful;
  const WriteOptions& options;
};

class MethodPlanner {
 public:
  MethodPlanner(const Program& program, const Method& method, Placement placement, SharedPlanning& shared);
  // Continues after an input or node that cannot be executed, and after those in placement.refused. The plan
  // is usable only if take_refused() is empty.
  Result<ExecutionPlan> run();
  std::vector<RefusedNode> take_refused() { return std::move(refused_); }

 private:
  // Inputs, outputs and values (method_planner.cpp).
  void plan_inputs();
  Status plan_stores();
  Status plan_outputs();
  Result<EValue> user_value(const Value& input, const InputSpec& spec);
  Result<EValue> user_number(const Value& input);
  Result<std::int32_t> literal(const Node* node, const Argument& argument);
  Result<EValue> literal_value(const Node* node, const Argument& argument);
  Result<std::int32_t> index_of(const Value& value, const Node* user);
  Result<std::int32_t> final_index_of(const Value& value);
  static bool is_output(const Value& value);
  std::int32_t add_result(const Value& value);

  // Instructions (method_planner.cpp).
  Status plan_or_refuse(const Node& node);
  Status plan_node(const Node& node);
  Status plan_delegate(const Node& node);
  Status plan_resize(const Node& node);
  Result<std::int32_t> resize_sizes(const Node& node);
  std::int32_t size_of(std::int32_t tensor, std::size_t dim);
  void call(std::string_view kernel, std::initializer_list<std::int32_t> args);
  std::int32_t operator_index(std::string_view kernel);
  void add_stack_trace();
  void add_instruction(Instruction::Kind kind, std::int32_t index, std::span<const std::int32_t> args);

  // Kernel calls (kernel_call.cpp).
  Status plan_kernel_call(const Node& node, const OpDef& def);
  Result<const KernelUse*> kernel_use(const Node& node, const OpDef& def);
  Status add_results(const Node& node, const KernelUse& use, std::span<const Value* const> values,
                     std::vector<std::int32_t>& args);
  Result<KernelUse> kernel_use_of(const Node& node, const OpDef& def, const OpDef& kernel);
  Result<std::int32_t> argument(const Node& node, const ArgDef& arg, const Argument& value);
  Result<std::int32_t> list_argument(const Node& node, const ArgDef& arg, const Argument& value);
  Result<std::int32_t> tensor_list(const Node& node, const ArgDef& arg, const Argument& value);
  Result<std::int32_t> number_list(const Node& node, const ArgDef& arg, const Argument& value);
  Result<std::int32_t> single_argument(const Node& node, const ArgDef& arg, const Argument& value);
  Result<std::int32_t> value_argument(const Node& node, const ArgDef& arg, const Value& value);

  // Marks of control flow and variables (control_flow.cpp).
  Result<bool> plan_control(const Node& node);
  Status plan_write(const Node& node);
  Status plan_set(const Node& node);
  Status plan_mark(const Node& node);
  void begin_else_if_due();
  Result<std::int32_t> number(const Node& node, const Argument& argument, EValue::Kind kind);
  void copy_tensor(std::int32_t from, std::int32_t to);
  void move(std::int32_t from, std::int32_t to);
  Result<std::int32_t> add_jump(const Node& node, const Argument& condition);
  void go_on_here(std::int32_t jump);
  std::int32_t next_instruction() const;
  Status plan_index_copy(const Node& node);  // index_copy.cpp
  std::int32_t copied_to_result(const Value& self, std::int32_t from, const Value& result);

  // Maps a delegate's number in the program to its index in the plan.
  Result<std::int32_t> delegate_index(std::uint32_t number);

  // Symbolic arithmetic without a correct kernel in the runtime (symbolic_call.cpp).
  Result<bool> plan_symbolic(const Node& node);
  Result<std::int32_t> symbolic_operand(const Node& node, std::size_t i);
  std::int32_t by_constant(SymFunction function, std::int32_t a, std::int64_t constant);
  std::int32_t of_two(SymFunction function, const Node& node, std::int32_t a, std::int32_t b);
  std::int32_t larger_or_smaller(bool is_max, std::int32_t a, std::int32_t b);
  std::int32_t and_or(bool is_and, std::int32_t a, std::int32_t b);
  std::int32_t not_equal(std::int32_t a, std::int32_t b);
  std::int32_t power(std::int32_t base, std::int64_t exponent);
  std::int32_t remainder(std::int32_t a, std::int32_t b, Range of_a, Range of_b);
  std::int32_t checked_divisor(std::int32_t divisor, Range range);
  std::int32_t compute(std::string_view kernel, std::int32_t a, std::int32_t b, EValue::Kind kind);
  std::int32_t as_float(const Argument& number, std::int32_t index);
  Range range_of(const Argument& number) const;

  Failure fail(const Node* node, std::string_view message, std::string_view hint = {}) const;
  Failure has_no_kernel(const Node& node) const;

  const Program& program_;
  const Method& method_;
  Placement placement_;
  ConstantPool& constants_;
  NeededKernels& needed_;
  const DelegateIndex& delegate_index_;
  const WriteOptions& options_;
  ExecutionPlan plan_;
  std::vector<RefusedNode> refused_;
  ValuePool pool_;
  std::vector<OpenMark> open_;       // ifs and loops without their end, the innermost last
  std::vector<std::int32_t> index_;  // by value number; -1: not yet in the plan
  const Node* origin_ = nullptr;     // the node that instructions are made for, or null
  std::unordered_map<const Value*, std::int32_t> copies_;  // copies of old contents
  std::unordered_map<std::string, std::int32_t> operators_;
  std::map<PlanFrame, std::uint32_t> frames_;  // indices in plan_.stack_traces
  std::map<std::vector<std::uint32_t>, std::uint32_t> traces_;
  std::unordered_map<Name, KernelUse> kernel_uses_;   // by op
  std::unordered_map<Name, std::int32_t> delegates_;  // by name: index in the plan
  EqualDelegates equal_delegates_;
  sym::Bounder bounder_;
};

}  // namespace depute::internal
