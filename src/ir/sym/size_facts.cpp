#include "ir/sym/size_facts.h"

#include <algorithm>

#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"

namespace depute {

const SymExpr* SizeFacts::simplify(const SymExpr* expr) {
  if (expr->kind == SymExpr::Kind::Int || expr->kind == SymExpr::Kind::Float) return expr;
  if (const auto found = simplified_.find(expr); found != simplified_.end()) return found->second;
  const SymExpr* simple = expr->kind == SymExpr::Kind::Call ? simplify_call(expr) : expr;
  const Range range = bounder_.of(simple);
  if (range.min == range.max && simple->kind != SymExpr::Kind::Int) {
    const bool is_number = simple->kind == SymExpr::Kind::Symbol ||
                           sym::row_of(simple->function).result == sym::ResultKind::IntegerOfIntegers ||
                           sym::row_of(simple->function).result == sym::ResultKind::LikeArguments;
    if (is_number) simple = sym_int(range.min);
  }
  simplified_.emplace(expr, simple);
  return simple;
}

const SymExpr* SizeFacts::simplify_call(const SymExpr* expr) {
  std::vector<const SymExpr*> args = expr->args;
  for (const SymExpr*& arg : args) arg = simplify(arg);
  const SymExpr* call = args == expr->args ? expr : sym_call_like(expr, std::move(args));
  if (call->kind != SymExpr::Kind::Call) return call;
  switch (call->function) {
    case SymFunction::Max:
    case SymFunction::Min:
      return simplify_extremum(call);
    case SymFunction::FloorDiv:
      return call->args.size() == 2 ? simplify_quotient(call) : call;
    case SymFunction::Mod:
      return call->args.size() == 2 ? simplify_remainder(call) : call;
    default:
      return call;
  }
}

// a // (a // k) == k if a >= k**2: with a = q*k + r it is k + r // q, and r < k <= q.
const SymExpr* SizeFacts::simplify_quotient(const SymExpr* expr) const {
  const SymInt a(expr->args[0]);
  const SymExpr* inner = expr->args[1];
  if (!sym::is_call(inner, SymFunction::FloorDiv) || inner->args.size() != 2) return expr;
  const SymInt dividend(inner->args[0]), divisor(inner->args[1]);  // in lowest terms: a / k
  const SymInt k = dividend == a ? divisor : floor_div(a * divisor, dividend);
  if (!(k * dividend == a * divisor)) return expr;
  const Range of_k = bounder_.of(k.expr()), of_divisor = bounder_.of(divisor.expr());
  if (of_k.min < 1 || of_divisor.min < 1) return expr;
  return bounder_.of(a.expr()).min >= sym::multiply(of_k, of_k).max ? k.expr() : expr;
}

// A dividend in [0, divisor) is its own remainder.
const SymExpr* SizeFacts::simplify_remainder(const SymExpr* expr) const {
  const Range a = bounder_.of(expr->args[0]), b = bounder_.of(expr->args[1]);
  return a.min >= 0 && a.max < b.min ? expr->args[0] : expr;
}

// Removes arguments that can never be the maximum or minimum.
const SymExpr* SizeFacts::simplify_extremum(const SymExpr* expr) const {
  const bool is_max = expr->function == SymFunction::Max;
  const auto is_beyond = [&](const SymExpr* a, const SymExpr* b) {
    const SymInt lead = is_max ? SymInt(a) - SymInt(b) : SymInt(b) - SymInt(a);
    return bounder_.of(lead.expr()).min >= 0;
  };
  std::vector<const SymExpr*> kept;
  for (const SymExpr* arg : expr->args) {
    if (std::ranges::any_of(kept, [&](const SymExpr* other) { return is_beyond(other, arg); })) continue;
    std::erase_if(kept, [&](const SymExpr* other) { return is_beyond(arg, other); });
    kept.push_back(arg);
  }
  if (kept.size() == expr->args.size()) return expr;
  return kept.size() == 1 ? kept[0] : sym_call_like(expr, std::move(kept));
}

bool SizeFacts::simplify(Dims& dims) {
  bool is_changed = false;
  for (SymInt& size : dims) {
    if (size.is_constant()) continue;
    const SymExpr* simple = simplify(size.expr());
    if (simple == size.expr()) continue;
    size = SymInt(simple);
    is_changed = true;
  }
  return is_changed;
}

bool SizeFacts::simplify(Type& type) {
  if (type.is_tensor()) {
    const bool has_other_sizes = simplify(type.tensor.sizes);
    const bool has_other_strides = simplify(type.tensor.strides);
    if (has_other_sizes || has_other_strides)
      type.tensor = make_tensor(type.tensor.dtype, type.tensor.sizes, type.tensor.strides);
    return has_other_sizes || has_other_strides;
  }
  if (type.kind != Type::Kind::SymInt || type.expr == nullptr) return false;
  const SymExpr* simple = simplify(type.expr);
  const bool is_changed = simple != type.expr;
  type.expr = simple;
  return is_changed;
}

}  // namespace depute
