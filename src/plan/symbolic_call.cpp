// Builds arithmetic on sizes out of other kernels where the runtime has no kernel, or one that differs from
// Python.
//
//   _operator.ne(a, b)        sym_not(eq(a, b))
//   _operator.pow(a, 3)       mul(mul(a, a), a)
//   _operator.lshift(a, 2)    mul(a, 4)
//   _operator.and_(a, b)      sym_ite(a, b, false)
//   _operator.mod(a, 4)       sub(a, mul(floordiv(a, 4), 4))           a may be negative: mod truncates
//   _operator.floordiv(a, b)  floordiv(a, sym_max(sym_ite(eq(b, 0), 0.0, b), least))   b may be 0
//   torch.sym_max(a, 0.5)     sym_ite(gt(a, 0.5), a, 0.5)              sym_max takes integers only
#include <algorithm>

#include "ir/sym/sym_functions.h"
#include "plan/method_planner.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t max_power = 64;
constexpr std::int64_t max_shift = 62;

bool is_constant_in(const Argument& argument, std::int64_t least, std::int64_t most) {
  return argument.is_int() && argument.as_int() >= least && argument.as_int() <= most;
}

bool is_float(const Argument& argument) {
  if (argument.is_value()) return scalar_kind(argument.as_value()->type().kind) == EValue::Kind::Double;
  return argument.kind == Argument::Kind::Float;
}

// Largest constant second operand of a function that is computed for constants only.
std::optional<std::int64_t> largest_constant(SymFunction function) {
  if (function == SymFunction::Pow) return max_power;
  if (function == SymFunction::LShift || function == SymFunction::RShift) return max_shift;
  return std::nullopt;
}

// True for a function of two operands that other kernels than the op's own compute.
bool needs_other_kernels(SymFunction function, bool is_of_floats, const Type& result) {
  switch (function) {
    case SymFunction::FloorDiv:
    case SymFunction::Mod:
      return !is_of_floats;
    case SymFunction::Max:
    case SymFunction::Min:
      return is_of_floats;
    case SymFunction::Ne:
      return true;
    case SymFunction::And:
    case SymFunction::Or:
      return result.kind == Type::Kind::SymBool;
    default:
      return false;
  }
}

}  // namespace

std::int32_t MethodPlanner::not_equal(std::int32_t a, std::int32_t b) {
  std::int32_t equal = compute("executorch_prim::eq.Scalar", a, b, EValue::Kind::Bool);
  std::int32_t result = pool_.add_scalar(EValue::Kind::Bool);
  call("executorch_prim::sym_not.Scalar", {equal, result});
  return result;
}

std::int32_t MethodPlanner::power(std::int32_t base, std::int64_t exponent) {
  if (exponent == 0) return pool_.integer(1);
  std::int32_t result = base;
  for (std::int64_t i = 1; i < exponent; ++i) {
    result = compute("executorch_prim::mul.Scalar", result, base, EValue::Kind::Int);
  }
  return result;
}

std::int32_t MethodPlanner::compute(std::string_view kernel, std::int32_t a, std::int32_t b,
                                    EValue::Kind kind) {
  std::int32_t result = pool_.add_scalar(kind);
  call(kernel, {a, b, result});
  return result;
}

std::int32_t MethodPlanner::as_float(const Argument& number, std::int32_t index) {
  if (is_float(number)) return index;
  std::int32_t result = pool_.add_scalar(EValue::Kind::Double);
  call("executorch_prim::sym_float.Scalar", {index, result});
  return result;
}

Range MethodPlanner::range_of(const Argument& number) const {
  if (number.is_int()) return {number.as_int(), number.as_int()};
  const bool is_known = number.is_value() && number.as_value()->type().kind == Type::Kind::SymInt &&
                        number.as_value()->type().expr != nullptr;
  return is_known ? bounder_.of(number.as_value()->type().expr) : Range{};
}

// Integer division by 0 kills the process. The sym_max kernel rejects floats, so a float in place of 0 makes
// the run fail with an error instead.
std::int32_t MethodPlanner::checked_divisor(std::int32_t divisor, Range range) {
  if (range.min > 0 || range.max < 0) return divisor;
  std::int32_t is_zero = compute("executorch_prim::eq.Scalar", divisor, pool_.integer(0), EValue::Kind::Bool);
  std::int32_t checked = pool_.add_scalar(EValue::Kind::Double);
  call("executorch_prim::sym_ite.Scalar", {is_zero, pool_.number(0), divisor, checked});
  return compute("executorch_prim::sym_max.Scalar", checked, pool_.integer(Range::min_bound),
                 EValue::Kind::Int);
}

// The runtime's remainder has the sign of a; Python's has the sign of b.
std::int32_t MethodPlanner::remainder(std::int32_t a, std::int32_t b, Range of_a, Range of_b) {
  b = checked_divisor(b, of_b);
  const bool has_one_sign = (of_a.min >= 0 && of_b.min >= 0) || (of_a.max <= 0 && of_b.max <= 0);
  if (has_one_sign) return compute("executorch_prim::mod.Scalar", a, b, EValue::Kind::Int);
  std::int32_t quotient = compute("executorch_prim::floordiv.Scalar", a, b, EValue::Kind::Int);
  std::int32_t covered = compute("executorch_prim::mul.Scalar", quotient, b, EValue::Kind::Int);
  return compute("executorch_prim::sub.Scalar", a, covered, EValue::Kind::Int);
}

Result<std::int32_t> MethodPlanner::symbolic_operand(const Node& node, std::size_t i) {
  const Argument& argument = node.arg(i);
  if (argument.is_value()) return index_of(*argument.as_value(), &node);
  if (argument.kind == Argument::Kind::Bool) return pool_.boolean(argument.as_bool());
  return literal(&node, argument);
}

// Computes a power or a shift by a constant.
std::int32_t MethodPlanner::by_constant(SymFunction function, std::int32_t a, std::int64_t constant) {
  if (function == SymFunction::Pow) return power(a, constant);
  const std::int32_t factor = pool_.integer(std::int64_t{1} << constant);
  return compute(
      function == SymFunction::LShift ? "executorch_prim::mul.Scalar" : "executorch_prim::floordiv.Scalar", a,
      factor, EValue::Kind::Int);
}

std::int32_t MethodPlanner::larger_or_smaller(bool is_max, std::int32_t a, std::int32_t b) {
  const std::int32_t is_first =
      compute(is_max ? "executorch_prim::gt.Scalar" : "executorch_prim::lt.Scalar", a, b, EValue::Kind::Bool);
  const std::int32_t result = pool_.add_scalar(EValue::Kind::Double);
  call("executorch_prim::sym_ite.Scalar", {is_first, a, b, result});
  return result;
}

std::int32_t MethodPlanner::and_or(bool is_and, std::int32_t a, std::int32_t b) {
  const std::int32_t result = pool_.add_scalar(EValue::Kind::Bool);
  const std::int32_t otherwise = pool_.boolean(!is_and);
  call("executorch_prim::sym_ite.Scalar", {a, is_and ? b : otherwise, is_and ? otherwise : b, result});
  return result;
}

std::int32_t MethodPlanner::of_two(SymFunction function, const Node& node, std::int32_t a, std::int32_t b) {
  switch (function) {
    case SymFunction::FloorDiv:
      b = checked_divisor(b, range_of(node.arg(1)));
      return compute("executorch_prim::floordiv.Scalar", a, b, EValue::Kind::Int);
    case SymFunction::Mod:
      return remainder(a, b, range_of(node.arg(0)), range_of(node.arg(1)));
    case SymFunction::Max:
    case SymFunction::Min:
      a = as_float(node.arg(0), a);
      b = as_float(node.arg(1), b);
      return larger_or_smaller(function == SymFunction::Max, a, b);
    case SymFunction::Ne:
      return not_equal(a, b);
    default:
      return and_or(function == SymFunction::And, a, b);
  }
}

// Returns false if the node is not symbolic arithmetic of this kind.
Result<bool> MethodPlanner::plan_symbolic(const Node& node) {
  if (node.results().size() != 1 || node.args().empty() || node.args().size() > 2) return false;
  std::int32_t& result = index_[placement_.numbers[*node.result()]];
  const SymFunction function = sym::function_of_op(node.op().str());
  if (function == SymFunction::Identity) {
    TRY(result, symbolic_operand(node, 0));
    return true;
  }
  if (node.args().size() != 2) return false;
  const bool is_of_floats = std::ranges::any_of(node.args(), is_float);
  if (function == SymFunction::Mod && is_of_floats) return has_no_kernel(node);
  if (const auto largest = largest_constant(function)) {
    if (!is_constant_in(node.arg(1), 0, *largest)) return false;
    TRY(const std::int32_t a, symbolic_operand(node, 0));
    result = by_constant(function, a, node.arg(1).as_int());
    return true;
  }
  // Otherwise the op's own kernel is correct, or no kernels can compute it.
  if (!needs_other_kernels(function, is_of_floats, node.result()->type())) return false;
  TRY(const std::int32_t a, symbolic_operand(node, 0));
  TRY(const std::int32_t b, symbolic_operand(node, 1));
  result = of_two(function, node, a, b);
  return true;
}

}  // namespace depute::internal
