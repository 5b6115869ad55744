// Interning of symbolic expressions, and arithmetic on SymInt. Simplification rules are in sym_simplify.cpp.
#include "depute/program/sym.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "depute/program/hash.h"
#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"
#include "support/check.h"
#include "support/hasher.h"
#include "support/names/interned.h"

namespace depute {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29);
}

struct ExprRules {
  std::size_t operator()(const SymExpr& e) const {
    std::size_t hash = mix(static_cast<std::size_t>(e.kind), static_cast<std::size_t>(e.int_value));
    hash = mix(hash, std::bit_cast<std::size_t>(e.float_value));
    hash = mix(hash, std::hash<Name>()(e.name));
    for (const SymExpr* arg : e.args) hash = mix(hash, reinterpret_cast<std::size_t>(arg));
    return hash;
  }
  using is_transparent = void;
  bool operator()(const SymExpr& a, const SymExpr& b) const {
    return a.kind == b.kind && a.int_value == b.int_value && a.name == b.name && a.args == b.args &&
           std::bit_cast<std::uint64_t>(a.float_value) == std::bit_cast<std::uint64_t>(b.float_value);
  }
  static std::size_t shard(const SymExpr& e) { return (ExprRules()(e) >> 32) % internal::shard_count; }
  static void keep_parts(const SymExpr& e, internal::Scope* scope);
};

using ExprTable = internal::Table<SymExpr, ExprRules, internal::TableKind::Expressions>;

ExprTable& expr_table() {
  static auto* table = new ExprTable;  // never destroyed: expressions outlive every static
  return *table;
}

void ExprRules::keep_parts(const SymExpr& e, internal::Scope* scope) {
  internal::keep_name(e.name, scope);
  for (const SymExpr* arg : e.args)
    expr_table().keep(static_cast<const internal::Entry<SymExpr>&>(*arg), scope);
}

const SymExpr* intern(SymExpr expr) {
  return expr_table().intern(std::move(expr), internal::scope_in_use());
}

thread_local std::uint64_t stand_ins = 0;

// Returns a symbol that replaces an expression beyond the limits, named after a hash of its content.
const SymExpr* stand_in(const SymExpr& expr) {
  ++stand_ins;
  Hasher hasher;
  hasher.add(expr.name.str());
  for (const SymExpr* arg : expr.args) hasher.add(str(arg));
  return sym_symbol("deep_" + hasher.finish().hex());
}

}  // namespace

const SymExpr* sym::make_call(SymFunction function, std::vector<const SymExpr*> args) {
  return make_call(function, name_of(function), std::move(args));
}

const SymExpr* sym::make_call(SymFunction function, Name name, std::vector<const SymExpr*> args) {
  SymExpr expr{.kind = SymExpr::Kind::Call, .function = function, .name = name, .args = std::move(args)};
  for (const SymExpr* arg : expr.args) {
    expr.depth = std::max(expr.depth, arg->depth + 1);
    expr.size = std::min(expr.size + arg->size, max_sym_size + 1);
  }
  if (expr.depth > max_sym_depth || expr.size > max_sym_size) return stand_in(expr);
  return intern(std::move(expr));
}

std::size_t sym::count_expressions() {
  return expr_table().size();
}

std::uint64_t sym::stand_ins_made() {
  return stand_ins;
}

const SymExpr* sym_int(std::int64_t value) {
  return intern({.kind = SymExpr::Kind::Int, .int_value = value, .name = {}, .args = {}});
}

const SymExpr* sym_float(double value) {
  return intern({.kind = SymExpr::Kind::Float, .float_value = value, .name = {}, .args = {}});
}

const SymExpr* sym_symbol(std::string_view name) {
  return intern({.kind = SymExpr::Kind::Symbol, .name = Name::scoped(name), .args = {}});
}

SymInt::SymInt(const SymExpr* expr) {
  if (expr->kind == SymExpr::Kind::Int) {
    value_ = expr->int_value;
  } else {
    expr_ = expr;
  }
}

SymInt SymInt::symbol(std::string_view name) {
  return SymInt(sym_symbol(name));
}

const SymExpr* SymInt::expr() const {
  return expr_ ? expr_ : sym_int(value_);
}

void SymInt::no_value() const {
  CHECK(false) << "not a constant size: " << str();
}

std::string SymInt::str() const {
  return expr_ ? depute::str(expr_) : std::to_string(value_);
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  std::int64_t sum = 0;
  if (a.is_constant() && b.is_constant() && !__builtin_add_overflow(a.value(), b.value(), &sum)) return sum;
  return SymInt(sym_call(SymFunction::Add, {a.expr(), b.expr()}));
}

SymInt operator-(const SymInt& a, const SymInt& b) {
  return a + b * SymInt(-1);
}

SymInt operator*(const SymInt& a, const SymInt& b) {
  std::int64_t product = 0;
  if (a.is_constant() && b.is_constant() && !__builtin_mul_overflow(a.value(), b.value(), &product))
    return product;
  if (a == 1) return b;
  if (b == 1) return a;
  return SymInt(sym_call(SymFunction::Mul, {a.expr(), b.expr()}));
}

SymInt floor_div(const SymInt& a, const SymInt& b) {
  return SymInt(sym_call(SymFunction::FloorDiv, {a.expr(), b.expr()}));
}

SymInt mod(const SymInt& a, const SymInt& b) {
  return SymInt(sym_call(SymFunction::Mod, {a.expr(), b.expr()}));
}

SymInt sym_max(const SymInt& a, const SymInt& b) {
  if (a.is_constant() && b.is_constant()) return std::max(a.value(), b.value());
  return SymInt(sym_call(SymFunction::Max, {a.expr(), b.expr()}));
}

SymInt sym_min(const SymInt& a, const SymInt& b) {
  if (a.is_constant() && b.is_constant()) return std::min(a.value(), b.value());
  return SymInt(sym_call(SymFunction::Min, {a.expr(), b.expr()}));
}

SymInt product(std::span<const SymInt> factors) {
  SymInt total = 1;
  for (const SymInt& factor : factors) total = total * factor;
  return total;
}

std::vector<Name> symbols_of(const SymExpr* expr) {
  std::vector<Name> symbols;
  std::unordered_set<const SymExpr*> seen;
  auto visit = [&](auto&& self, const SymExpr* e) -> void {
    if (!seen.insert(e).second) return;
    if (e->kind == SymExpr::Kind::Symbol) symbols.push_back(e->name);
    for (const SymExpr* arg : e->args) self(self, arg);
  };
  visit(visit, expr);
  return symbols;
}

}  // namespace depute
