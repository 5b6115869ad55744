// Bounds of symbolic expressions by interval arithmetic: (s0//2) + 1 is in [1, 33] if s0 is in [1, 64].
//
// Bounds are sound, but may be too wide: two occurrences of a symbol are treated as independent.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "depute/program/sym.h"
#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"
#include "ir/sym/sym_intervals.h"

namespace depute::sym {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_low_infinite(std::int64_t bound) {
  return bound == Range::min_bound;
}
bool is_high_infinite(std::int64_t bound) {
  return bound == Range::max_bound;
}
bool is_infinite(std::int64_t bound) {
  return is_low_infinite(bound) || is_high_infinite(bound);
}

__extension__ typedef __int128 Wide;

std::int64_t saturate(Wide value) {
  if (value >= Range::max_bound) return Range::max_bound;
  if (value <= Range::min_bound) return Range::min_bound;
  return static_cast<std::int64_t>(value);
}

std::int64_t negate_bound(std::int64_t bound) {
  if (is_low_infinite(bound)) return Range::max_bound;
  if (is_high_infinite(bound)) return Range::min_bound;
  return -bound;
}

// Intersection of two ranges; the first range if they are disjoint.
Range intersect(Range a, Range b) {
  Range both = {std::max(a.min, b.min), std::min(a.max, b.max)};
  return both.min <= both.max ? both : a;
}

std::int64_t multiply_bound(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? Range::max_bound : Range::min_bound;
  return saturate(static_cast<Wide>(a) * b);
}

// Returns a // b for b > 0; a and b may be infinite.
std::int64_t divide_bound(std::int64_t a, std::int64_t b) {
  if (is_infinite(a)) return a;
  if (is_high_infinite(b)) return a < 0 ? -1 : 0;
  return floor_quotient(a, b);
}

// Floor division is monotonic in a. In b its direction depends on the sign of a.
Range divide_by_positive(Range a, Range b) {
  return {std::min(divide_bound(a.min, b.min), divide_bound(a.min, b.max)),
          std::max(divide_bound(a.max, b.min), divide_bound(a.max, b.max))};
}

FloatRange widen(double low, double high) {
  if (std::isnan(low) || std::isnan(high)) return {};
  return {std::nextafter(low, -infinity), std::nextafter(high, infinity)};
}

FloatRange to_float(Range range) {
  FloatRange result;
  if (!is_low_infinite(range.min)) result.min = std::nextafter(static_cast<double>(range.min), -infinity);
  if (!is_high_infinite(range.max)) result.max = std::nextafter(static_cast<double>(range.max), infinity);
  return result;
}

bool is_identifier(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// True if an argument is or may be a float.
bool has_float_part(const SymExpr* expr) {
  return std::ranges::any_of(expr->args, [](const SymExpr* arg) {
    if (arg->kind == SymExpr::Kind::Float) return true;
    if (arg->kind != SymExpr::Kind::Call) return false;
    ResultKind result = row_of(arg->function).result;
    return result == ResultKind::Float || (result == ResultKind::LikeArguments && has_float_part(arg));
  });
}

}  // namespace

// --- intervals

Range negate(Range range) {
  return {negate_bound(range.max), negate_bound(range.min)};
}

Range hull(Range a, Range b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

Range add(Range a, Range b) {
  Range sum;
  sum.min = is_low_infinite(a.min) || is_low_infinite(b.min) ? Range::min_bound
                                                             : saturate(static_cast<Wide>(a.min) + b.min);
  sum.max = is_high_infinite(a.max) || is_high_infinite(b.max) ? Range::max_bound
                                                               : saturate(static_cast<Wide>(a.max) + b.max);
  return sum;
}

Range multiply(Range a, Range b) {
  std::array<std::int64_t, 4> corners = {multiply_bound(a.min, b.min), multiply_bound(a.min, b.max),
                                         multiply_bound(a.max, b.min), multiply_bound(a.max, b.max)};
  auto [low, high] = std::ranges::minmax(corners);
  return {low, high};
}

Range floor_divide(Range a, Range b) {
  std::optional<Range> result;
  if (b.max > 0) result = divide_by_positive(a, {std::max<std::int64_t>(b.min, 1), b.max});
  if (b.min < 0) {
    Range negative = divide_by_positive(negate(a), negate({b.min, std::min<std::int64_t>(b.max, -1)}));
    result = result ? hull(*result, negative) : negative;
  }
  return result.value_or(everything);
}

// Python's remainder is between 0 and the divisor. It is the dividend if that is in [0, divisor).
Range remainder(Range a, Range b) {
  if (b.min == 0 && b.max == 0) return everything;
  if (a.min >= 0 && b.min > 0 && a.max < b.min) return a;
  Range result = {0, 0};
  if (b.max > 0) {
    std::int64_t high = is_high_infinite(b.max) ? b.max : b.max - 1;
    result.max = a.min >= 0 ? std::min(high, a.max) : high;
  }
  if (b.min < 0) {
    std::int64_t low = is_low_infinite(b.min) ? b.min : b.min + 1;
    result.min = a.max <= 0 ? std::max(low, a.min) : low;
  }
  return result;
}

Range raise(Range base, const SymExpr* exponent) {
  if (exponent->kind != SymExpr::Kind::Int || exponent->int_value < 1) return everything;
  std::int64_t e = exponent->int_value;
  auto bound = [e](std::int64_t b) {
    std::int64_t result = 1;
    for (std::int64_t i = 0; i < e && result != 0; ++i) {
      result = multiply_bound(result, b);
      if (b == 1 || is_infinite(result)) break;
      if (b == -1) return e % 2 == 0 ? std::int64_t{1} : std::int64_t{-1};
    }
    if (is_infinite(result)) return b < 0 && e % 2 == 1 ? Range::min_bound : Range::max_bound;
    return result;
  };
  if (e % 2 == 1) return {bound(base.min), bound(base.max)};
  std::int64_t high = std::max(bound(base.min), bound(base.max));
  if (base.min <= 0 && base.max >= 0) return {0, high};
  return {std::min(bound(base.min), bound(base.max)), high};
}

FloatRange add(FloatRange a, FloatRange b) {
  return widen(a.min + b.min, a.max + b.max);
}

FloatRange multiply(FloatRange a, FloatRange b) {
  std::array<double, 4> corners = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
  if (std::ranges::any_of(corners, [](double x) { return std::isnan(x); })) return {};
  auto [low, high] = std::ranges::minmax(corners);
  return widen(low, high);
}

FloatRange divide(FloatRange a, FloatRange b) {
  if (b.min <= 0 && b.max >= 0) return {};
  return multiply(a, widen(1 / b.max, 1 / b.min));
}

Range to_range(FloatRange range, double (*round)(double)) {
  Range result;
  double low = round(range.min);
  double high = round(range.max);
  if (low > -0x1p63 && low < 0x1p63) result.min = static_cast<std::int64_t>(low);
  if (high > -0x1p63 && high < 0x1p63) result.max = static_cast<std::int64_t>(high);
  return result;
}

// --- expressions

Bounder::Bounder(const Ranges& ranges) : ranges_(ranges) {
  for (const auto& [key, range] : ranges) {
    if (!is_identifier(key)) add_constraint(key, range);
  }
}

Range Bounder::of(const SymExpr* expr) const {
  Range range = plain(expr);
  auto found = known_.find(expr);
  return found == known_.end() ? range : intersect(found->second, range);
}

// A key that is an expression bounds it, its negative, and the symbol of c*s + k that it was made from.
void Bounder::add_constraint(std::string_view key, Range range) {
  auto expr = parse_sym(key);
  if (!expr) return;
  remember(*expr, range);
  if (is_call(*expr, SymFunction::Add)) remember((SymInt(-1) * SymInt(*expr)).expr(), negate(range));
  const SymExpr* scaled = *expr;
  if (is_call(scaled, SymFunction::Add) && scaled->args.size() == 2 &&
      scaled->args[1]->kind == SymExpr::Kind::Int) {
    range = add(range, negate(Range{scaled->args[1]->int_value, scaled->args[1]->int_value}));
    scaled = scaled->args[0];
    remember(scaled, range);
  }
  auto [coefficient, rest] = split_term(scaled);
  if (coefficient <= 1 || rest == nullptr || rest->kind != SymExpr::Kind::Symbol) return;
  remember(rest, {negate_bound(divide_bound(negate_bound(range.min), coefficient)),
                  divide_bound(range.max, coefficient)});
}

void Bounder::remember(const SymExpr* expr, Range range) {
  auto [entry, is_new] = known_.try_emplace(expr, range);
  if (!is_new) entry->second = intersect(entry->second, range);
}

Range Bounder::plain(const SymExpr* expr) const {
  switch (expr->kind) {
    case SymExpr::Kind::Int:
      return {expr->int_value, expr->int_value};
    case SymExpr::Kind::Float:
      return everything;
    case SymExpr::Kind::Symbol: {
      auto found = ranges_.find(expr->name.str());
      return found == ranges_.end() ? everything : found->second;
    }
    case SymExpr::Kind::Call:
      break;
  }
  return of_call(expr);
}

Range Bounder::of_call(const SymExpr* expr) const {
  const FunctionRow& row = row_of(expr->function);
  if (row.result == ResultKind::Truth) return {0, 1};
  if (row.bounds == nullptr || expr->args.empty() || !row.takes(expr->args.size())) return everything;
  if (row.result == ResultKind::LikeArguments && has_float_part(expr)) return everything;
  return row.bounds(*this, expr->args);
}

FloatRange Bounder::of_float(const SymExpr* expr) const {
  if (expr->kind == SymExpr::Kind::Float) return widen(expr->float_value, expr->float_value);
  const FunctionRow& row = row_of(expr->function);
  if (row.result != ResultKind::Float && !has_float_part(expr)) return to_float(of(expr));
  if (row.float_bounds == nullptr || !row.takes(expr->args.size())) return {};
  return row.float_bounds(*this, expr->args);
}

}  // namespace depute::sym

namespace depute {

Range bounds(const SymExpr* expr, const Ranges& ranges) {
  if (expr->kind == SymExpr::Kind::Int) return {expr->int_value, expr->int_value};
  return sym::Bounder(ranges).of(expr);
}

Range bounds(const SymInt& value, const Ranges& ranges) {
  if (value.is_constant()) return {value.value(), value.value()};
  return bounds(value.expr(), ranges);
}

}  // namespace depute
