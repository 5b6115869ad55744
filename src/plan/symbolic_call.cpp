// Arithmetic on sizes for which the runtime has no kernel of its own, by those it has.
//
//   _operator.ne(a, b)        sym_not(eq(a, b))
//   _operator.pow(a, 3)       mul(mul(a, a), a)
//   _operator.lshift(a, 2)    mul(a, 4)
//   _operator.and_(a, b)      sym_ite(a, b, false)
#include "ir/sym_functions.h"
#include "plan/method_planner.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t max_power = 64;
constexpr std::int64_t max_shift = 62;

bool is_constant_in(const Argument& argument, std::int64_t least, std::int64_t most) {
  return argument.is_int() && argument.as_int() >= least && argument.as_int() <= most;
}

}  // namespace

std::int32_t MethodPlanner::not_equal(std::int32_t a, std::int32_t b) {
  std::int32_t equal = pool_.add_scalar(EValue::Kind::Bool);
  call("executorch_prim::eq.Scalar", {a, b, equal});
  std::int32_t result = pool_.add_scalar(EValue::Kind::Bool);
  call("executorch_prim::sym_not.Scalar", {equal, result});
  return result;
}

std::int32_t MethodPlanner::power(std::int32_t base, std::int64_t exponent) {
  if (exponent == 0) return pool_.integer(1);
  std::int32_t result = base;
  for (std::int64_t i = 1; i < exponent; ++i) {
    std::int32_t product = pool_.add_scalar(EValue::Kind::Int);
    call("executorch_prim::mul.Scalar", {result, base, product});
    result = product;
  }
  return result;
}

// False when the node is none of these.
Result<bool> MethodPlanner::plan_symbolic(const Node& node) {
  if (node.results().size() != 1 || node.args().empty() || node.args().size() > 2) return false;
  auto operand = [&](std::size_t i) -> Result<std::int32_t> {
    const Argument& argument = node.arg(i);
    if (argument.is_value()) return index_of(*argument.as_value(), &node);
    if (argument.kind == Argument::Kind::Bool) return pool_.boolean(argument.as_bool());
    return literal(&node, argument);
  };
  std::int32_t& result = index_[placement_.numbers[*node.result()]];
  SymFunction function = sym::function_of_op(node.op().str());
  if (function == SymFunction::Identity) {
    TRY(result, operand(0));
    return true;
  }
  if (node.args().size() != 2) return false;
  switch (function) {
    case SymFunction::Pow: {
      if (!is_constant_in(node.arg(1), 0, max_power)) return false;
      TRY(std::int32_t base, operand(0));
      result = power(base, node.arg(1).as_int());
      return true;
    }
    case SymFunction::LShift:
    case SymFunction::RShift: {
      if (!is_constant_in(node.arg(1), 0, max_shift)) return false;
      TRY(std::int32_t a, operand(0));
      std::int32_t factor = pool_.integer(std::int64_t{1} << node.arg(1).as_int());
      bool is_left = function == SymFunction::LShift;
      result = pool_.add_scalar(EValue::Kind::Int);
      call(is_left ? "executorch_prim::mul.Scalar" : "executorch_prim::floordiv.Scalar", {a, factor, result});
      return true;
    }
    case SymFunction::Ne: {
      TRY(std::int32_t a, operand(0));
      TRY(std::int32_t b, operand(1));
      result = not_equal(a, b);
      return true;
    }
    case SymFunction::And:
    case SymFunction::Or: {
      if (node.result()->type().kind != Type::Kind::SymBool) return false;
      TRY(std::int32_t a, operand(0));
      TRY(std::int32_t b, operand(1));
      bool is_and = function == SymFunction::And;
      result = pool_.add_scalar(EValue::Kind::Bool);
      std::int32_t otherwise = pool_.boolean(!is_and);
      call("executorch_prim::sym_ite.Scalar", {a, is_and ? b : otherwise, is_and ? otherwise : b, result});
      return true;
    }
    default:
      return false;  // the op has a kernel, or there is nothing to compute it by
  }
}

}  // namespace depute::internal
