// Plans the control flow of a flat method (control_ops.h) with the runtime's two instructions. A jump is
// taken if a condition is false; a move sets a number to another one.
//
//   control.if(%p)                 0  jump to 3 unless p
//     control.set(%v, 1)           1  move 1 to v
//   control.else()           ->    2  jump to 4 unless false
//     control.set(%v, 2)           3  move 2 to v
//   control.end_if()               4  ...
//
// Tensors are never moved, since a move would make both the same tensor in all later calls. A tensor that was
// not computed in the place of the variable (variables.h) is copied.
#include <fmt/format.h>

#include "ops/control/control_ops.h"
#include "plan/method_planner.h"
#include "support/try.h"

namespace depute::internal {

// Returns false if the node is not control flow.
Result<bool> MethodPlanner::plan_control(const Node& node) {
  switch (control_op(node)) {
    case ControlOp::None:
      return false;
    case ControlOp::Variable:
      add_result(*node.result());
      return true;
    case ControlOp::Set:
    case ControlOp::SetItem:
    case ControlOp::Resize:
    case ControlOp::Copy:
      TRY_STATUS(plan_write(node));
      return true;
    case ControlOp::If:
    case ControlOp::Else:
    case ControlOp::EndIf:
    case ControlOp::Loop:
    case ControlOp::LeaveUnless:
    case ControlOp::EndLoop:
      TRY_STATUS(plan_mark(node));
      return true;
  }
  return false;
}

// --- variables

Status MethodPlanner::plan_write(const Node& node) {
  if (control_op(node) == ControlOp::Set) return plan_set(node);
  if (control_op(node) == ControlOp::Copy) {
    TRY(std::int32_t from, index_of(*node.operand(0), &node));
    if (node.result()->type().is_tensor()) {
      copy_tensor(from, add_result(*node.result()));
    } else {
      move(from, add_result(*node.result()));
    }
    return {};
  }
  std::int32_t variable = add_result(*node.arg(0).as_value());
  if (control_op(node) == ControlOp::SetItem) {
    TRY(std::int32_t place, index_of(*node.arg(1).as_value(), &node));
    TRY(std::int32_t item, index_of(*node.arg(2).as_value(), &node));
    call("executorch_prim::et_copy_index.tensor", {variable, item, place});
    return {};
  }
  std::vector<std::int64_t> sizes;
  for (const Argument& size : node.arg(1).as_list()) {
    TRY(std::int32_t index, number(node, size, EValue::Kind::Int));
    sizes.push_back(index);
  }
  call("aten::empty.out", {pool_.int_list(sizes), pool_.null(), variable, variable});
  return {};
}

Status MethodPlanner::plan_set(const Node& node) {
  const Value& variable = *node.arg(0).as_value();
  const Argument& content = node.arg(1);
  std::int32_t to = add_result(variable);
  bool is_there =
      content.is_value() && placement_.numbers[*content.as_value()] == placement_.numbers[variable];
  if (is_there) return {};
  if (variable.type().is_tensor()) {
    TRY(std::int32_t from, index_of(*content.as_value(), &node));
    copy_tensor(from, to);
    return {};
  }
  TRY(std::int32_t from, number(node, content, scalar_kind(variable.type().kind)));
  move(from, to);
  return {};
}

// Returns the index of a number of the given kind.
Result<std::int32_t> MethodPlanner::number(const Node& node, const Argument& argument, EValue::Kind kind) {
  if (argument.is_value()) {
    EValue::Kind given = scalar_kind(argument.as_value()->type().kind);
    TRY(std::int32_t index, index_of(*argument.as_value(), &node));
    if (given == kind) return index;
    if (given == EValue::Kind::Int && kind == EValue::Kind::Double) {
      std::int32_t result = pool_.add_scalar(kind);
      call("executorch_prim::sym_float.Scalar", {index, result});
      return result;
    }
  } else if (argument.is_number()) {
    if (kind == EValue::Kind::Double) return pool_.number(argument.as_double());
    if (kind == EValue::Kind::Bool && argument.kind == Argument::Kind::Bool) {
      return pool_.boolean(argument.as_bool());
    }
    if (kind == EValue::Kind::Int && argument.is_int()) return pool_.integer(argument.as_int());
  }
  const Value& variable = *node.arg(0).as_value();
  return fail(variable.producer(), "its branches or iterations return numbers of different types");
}

void MethodPlanner::copy_tensor(std::int32_t from, std::int32_t to) {
  call("aten::clone.out", {from, pool_.null(), to, to});
}

void MethodPlanner::move(std::int32_t from, std::int32_t to) {
  add_instruction(Instruction::Kind::MoveCall, from, {});
  plan_.instructions.back().target = to;
}

// --- marks

Status MethodPlanner::plan_mark(const Node& node) {
  switch (control_op(node)) {
    case ControlOp::If: {
      TRY(std::int32_t jump, add_jump(node, node.arg(0)));
      open_.push_back({.exit = jump});
      return {};
    }
    case ControlOp::Else:
      open_.back().else_is_due = true;
      return {};
    case ControlOp::EndIf:
      go_on_here(open_.back().exit);
      open_.pop_back();
      return {};
    case ControlOp::Loop:
      begin_else_if_due();
      open_.push_back({.begin = next_instruction()});
      return {};
    case ControlOp::LeaveUnless: {
      TRY(open_.back().exit, add_jump(node, node.arg(0)));
      return {};
    }
    case ControlOp::EndLoop: {
      TRY(std::int32_t jump, add_jump(node, node.arg(0)));
      plan_.instructions[static_cast<std::size_t>(jump)].target = open_.back().begin;
      if (open_.back().exit >= 0) go_on_here(open_.back().exit);
      open_.pop_back();
      return {};
    }
    default:
      return {};
  }
}

// Called before the first instruction of an else part; an empty else part needs no jump over it.
void MethodPlanner::begin_else_if_due() {
  if (open_.empty() || !open_.back().else_is_due) return;
  open_.back().else_is_due = false;
  add_instruction(Instruction::Kind::JumpFalseCall, pool_.boolean(false), {});
  go_on_here(open_.back().exit);
  open_.back().exit = next_instruction() - 1;
}

// Adds a jump whose target is set later.
Result<std::int32_t> MethodPlanner::add_jump(const Node& node, const Argument& condition) {
  TRY(std::int32_t index, condition.is_value() ? index_of(*condition.as_value(), &node)
                                               : Result<std::int32_t>(pool_.boolean(condition.as_bool())));
  add_instruction(Instruction::Kind::JumpFalseCall, index, {});
  return next_instruction() - 1;
}

void MethodPlanner::go_on_here(std::int32_t jump) {
  plan_.instructions[static_cast<std::size_t>(jump)].target = next_instruction();
}

std::int32_t MethodPlanner::next_instruction() const {
  return static_cast<std::int32_t>(plan_.instructions.size());
}

}  // namespace depute::internal
