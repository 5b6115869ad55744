// Simplification rules, applied when expressions are made.
//
//   Add(s0, 3, Mul(2, s0))            ->  3*s0 + 3
//   FloorDiv(Add(Mul(4, s0), s1), 2)  ->  2*s0 + (s1//2)
//
// Every rule holds for all integers, including negative ones, for which the left side is defined. Terms and
// factors are ordered by structure and text, never by address, so output is the same in every run.
#include <algorithm>
#include <numeric>

#include "depute/program/sym.h"
#include "ir/sym/sym_functions.h"
#include "ir/sym/sym_internal.h"

namespace depute {
namespace {

using sym::Exprs;
using sym::is_call;
using sym::make_call;

// --- order

bool is_int(const SymExpr* expr) {
  return expr->kind == SymExpr::Kind::Int;
}
bool is_int(const SymExpr* expr, std::int64_t value) {
  return is_int(expr) && expr->int_value == value;
}
bool is_constant(const SymExpr* expr) {
  return is_int(expr) || expr->kind == SymExpr::Kind::Float;
}

// Input text may call Pow and FloorDiv with any number of arguments.
bool is_binary_call(const SymExpr* expr, SymFunction function) {
  return is_call(expr, function) && expr->args.size() == 2;
}

// Orders symbols before calls before numbers, then by name, number of arguments and first different argument.
// Equal expressions are the same pointer, so only one argument is descended into.
std::strong_ordering compare(const SymExpr* a, const SymExpr* b) {
  auto rank = [](const SymExpr* e) {
    if (e->kind == SymExpr::Kind::Symbol) return 0;
    return e->kind == SymExpr::Kind::Call ? 1 : 2;
  };
  while (a != b) {
    if (auto order = rank(a) <=> rank(b); order != 0) return order;
    if (auto order = a->kind <=> b->kind; order != 0) return order;
    if (auto order = a->name.str() <=> b->name.str(); order != 0) return order;
    if (auto order = a->int_value <=> b->int_value; order != 0) return order;
    if (a->kind == SymExpr::Kind::Float) return std::strong_order(a->float_value, b->float_value);
    if (auto order = a->args.size() <=> b->args.size(); order != 0) return order;
    std::size_t i = 0;
    while (a->args[i] == b->args[i]) ++i;
    const SymExpr* next = a->args[i];
    b = b->args[i];
    a = next;
  }
  return std::strong_ordering::equal;
}

bool before(const SymExpr* a, const SymExpr* b) {
  return compare(a, b) < 0;
}

// Replaces nested calls of the same function by their arguments.
Exprs flatten(SymFunction function, const Exprs& args) {
  Exprs flat;
  for (const SymExpr* arg : args) {
    if (is_call(arg, function)) {
      flat.insert(flat.end(), arg->args.begin(), arg->args.end());
    } else {
      flat.push_back(arg);
    }
  }
  return flat;
}

const SymExpr* sum_of(Exprs args) {
  return sym_call(SymFunction::Add, std::move(args));
}
const SymExpr* product_of(Exprs args) {
  return sym_call(SymFunction::Mul, std::move(args));
}
const SymExpr* floor_div_of(const SymExpr* a, const SymExpr* b) {
  return sym_call(SymFunction::FloorDiv, {a, b});
}

// Removes the integers from `args` and returns their combination; on overflow they all stay.
template <typename Combine>
std::int64_t take_integers(Exprs& args, std::int64_t neutral, Combine overflows) {
  std::vector<std::int64_t> numbers;
  for (const SymExpr* arg : args) {
    if (is_int(arg)) numbers.push_back(arg->int_value);
  }
  std::ranges::sort(numbers);  // makes the result independent of the order
  std::int64_t total = neutral;
  for (std::int64_t number : numbers) {
    if (overflows(total, number, &total)) return neutral;
  }
  std::erase_if(args, [](const SymExpr* arg) { return is_int(arg); });
  return total;
}

bool add_overflows(std::int64_t a, std::int64_t b, std::int64_t* sum) {
  return __builtin_add_overflow(a, b, sum);
}
bool mul_overflows(std::int64_t a, std::int64_t b, std::int64_t* product) {
  return __builtin_mul_overflow(a, b, product);
}

// --- Add: c1*t1 + c2*t2 + ... + constant

// Returns `coefficient * rest`; `rest` must not have an integer factor.
const SymExpr* scaled(std::int64_t coefficient, const SymExpr* rest) {
  if (coefficient == 1) return rest;
  Exprs factors{sym_int(coefficient)};
  if (is_call(rest, SymFunction::Mul)) {
    factors.insert(factors.end(), rest->args.begin(), rest->args.end());
  } else {
    factors.push_back(rest);
  }
  return make_call(SymFunction::Mul, std::move(factors));
}

// --- Mul: constant * b1**e1 * b2**e2 * ...

struct Power {
  const SymExpr* base;
  std::int64_t exponent;
};

Power split_power(const SymExpr* factor) {
  if (is_binary_call(factor, SymFunction::Pow) && is_int(factor->args[1]) && factor->args[1]->int_value > 0) {
    return {factor->args[0], factor->args[1]->int_value};
  }
  return {factor, 1};
}

Exprs merge_factors(const Exprs& factors) {
  std::vector<Power> powers;
  for (const SymExpr* factor : factors) powers.push_back(split_power(factor));
  std::ranges::sort(powers, [](const Power& a, const Power& b) {
    if (a.base != b.base) return before(a.base, b.base);
    return a.exponent < b.exponent;
  });
  Exprs merged;
  for (std::size_t i = 0; i < powers.size();) {
    Power power = powers[i++];
    while (i < powers.size() && powers[i].base == power.base && !is_constant(power.base) &&
           !add_overflows(power.exponent, powers[i].exponent, &power.exponent)) {
      ++i;
    }
    merged.push_back(power.exponent == 1
                         ? power.base
                         : make_call(SymFunction::Pow, {power.base, sym_int(power.exponent)}));
  }
  return merged;
}

// Returns coefficient * (t1 + t2 + ...), term by term; null if a coefficient overflows.
const SymExpr* distribute(std::int64_t coefficient, const SymExpr* sum) {
  Exprs terms;
  for (const SymExpr* arg : sum->args) {
    sym::ScaledTerm term = sym::split_term(arg);
    std::int64_t product = 0;
    if (mul_overflows(coefficient, term.coefficient, &product)) return nullptr;
    terms.push_back(term.rest ? product_of({sym_int(product), term.rest}) : sym_int(product));
  }
  return sum_of(std::move(terms));
}

// --- division

Exprs factors_of(const SymExpr* product) {
  return is_call(product, SymFunction::Mul) ? product->args : Exprs{product};
}

Exprs terms_of(const SymExpr* sum) {
  return is_call(sum, SymFunction::Add) ? sum->args : Exprs{sum};
}

// Returns term / divisor if all factors of the divisor are factors of the term; otherwise null.
const SymExpr* exact_quotient(const SymExpr* term, const SymExpr* divisor) {
  sym::ScaledTerm a = sym::split_term(term);
  sym::ScaledTerm b = sym::split_term(divisor);
  if (a.coefficient == 0) return sym_int(0);
  if (b.coefficient == 0 || (b.coefficient == -1 && a.coefficient == Range::min_bound)) return nullptr;
  if (a.coefficient % b.coefficient != 0) return nullptr;
  std::vector<Power> powers;
  if (a.rest) {
    for (const SymExpr* factor : factors_of(a.rest)) powers.push_back(split_power(factor));
  }
  if (b.rest) {
    for (const SymExpr* factor : factors_of(b.rest)) {
      Power wanted = split_power(factor);
      auto found = std::ranges::find(powers, wanted.base, &Power::base);
      if (found == powers.end() || found->exponent < wanted.exponent) return nullptr;
      found->exponent -= wanted.exponent;
    }
  }
  Exprs quotient{sym_int(a.coefficient / b.coefficient)};
  for (const Power& power : powers) {
    if (power.exponent == 0) continue;
    quotient.push_back(power.exponent == 1
                           ? power.base
                           : make_call(SymFunction::Pow, {power.base, sym_int(power.exponent)}));
  }
  return product_of(std::move(quotient));
}

// Greatest integer that divides all terms of both sums.
std::int64_t common_divisor(const SymExpr* a, const SymExpr* b) {
  std::int64_t divisor = 0;
  for (const SymExpr* side : {a, b}) {
    for (const SymExpr* term : terms_of(side)) {
      std::int64_t coefficient = sym::split_term(term).coefficient;
      if (coefficient == Range::min_bound) return 1;
      divisor = std::gcd(divisor, coefficient);
    }
  }
  return divisor;
}

bool has_factor(const SymExpr* term, const SymExpr* base) {
  const SymExpr* rest = sym::split_term(term).rest;
  if (rest == nullptr) return false;
  return std::ranges::any_of(factors_of(rest), [&](const SymExpr* f) { return split_power(f).base == base; });
}

// Returns a symbol or call that is a factor of all terms of both sums; null if there is none.
const SymExpr* common_factor(const SymExpr* a, const SymExpr* b) {
  const Exprs of_a = terms_of(a), of_b = terms_of(b);
  const SymExpr* rest = sym::split_term(of_b[0]).rest;
  if (rest == nullptr) return nullptr;
  for (const SymExpr* factor : factors_of(rest)) {
    const SymExpr* base = split_power(factor).base;
    const auto has_it = [&](const SymExpr* term) { return has_factor(term, base); };
    if (std::ranges::all_of(of_a, has_it) && std::ranges::all_of(of_b, has_it)) return base;
  }
  return nullptr;
}

const SymExpr* divide_terms(const SymExpr* sum, const SymExpr* divisor) {
  Exprs terms;
  for (const SymExpr* term : terms_of(sum)) terms.push_back(exact_quotient(term, divisor));
  return sum_of(std::move(terms));
}

bool are_integers(const SymExpr* a, const SymExpr* b) {
  return !sym::may_be_fractional(a) && !sym::may_be_fractional(b);
}

// --- calls of numbers

const SymExpr* truth(bool value) {
  return make_call(value ? SymFunction::True : SymFunction::False, {});
}

std::optional<bool> truth_of(const SymExpr* expr) {
  if (is_call(expr, SymFunction::True)) return true;
  if (is_call(expr, SymFunction::False)) return false;
  return std::nullopt;
}

std::optional<sym::Number> number_of(const SymExpr* expr) {
  if (is_int(expr)) return sym::Number::of(expr->int_value);
  if (expr->kind == SymExpr::Kind::Float) return sym::Number::of(expr->float_value);
  if (auto value = truth_of(expr)) return sym::Number::of(std::int64_t{*value});
  return std::nullopt;
}

// Returns the value of a call with constant arguments; null if it stays a call.
const SymExpr* fold(const sym::FunctionRow& row, const Exprs& args) {
  if (args.empty() || row.value == nullptr || !row.is_folded) return nullptr;
  std::vector<sym::Number> numbers;
  for (const SymExpr* arg : args) {
    auto number = number_of(arg);
    if (!number) return nullptr;
    numbers.push_back(*number);
  }
  auto result = row.value(numbers);
  if (!result) return nullptr;
  if (row.result == sym::ResultKind::Truth) return truth(result->integer != 0);
  return result->is_float ? sym_float(result->real) : sym_int(result->integer);
}

}  // namespace

sym::ScaledTerm sym::split_term(const SymExpr* term) {
  if (is_int(term)) return {term->int_value, nullptr};
  if (!is_call(term, SymFunction::Mul) || !is_int(term->args[0])) return {1, term};
  Exprs rest(term->args.begin() + 1, term->args.end());
  return {term->args[0]->int_value,
          rest.size() == 1 ? rest[0] : make_call(SymFunction::Mul, std::move(rest))};
}

bool sym::may_be_fractional(const SymExpr* expr) {
  switch (expr->kind) {
    case SymExpr::Kind::Int:
      return false;
    case SymExpr::Kind::Float:
      return true;
    case SymExpr::Kind::Symbol: {
      std::string_view name = expr->name.str();
      return name.starts_with("zf") || name.starts_with("zuf");  // torch's names for float symbols
    }
    case SymExpr::Kind::Call:
      break;
  }
  if (is_call(expr, SymFunction::Pow) && split_power(expr).base == expr) return true;
  switch (sym::row_of(expr->function).result) {
    case sym::ResultKind::Integer:
      return false;
    case sym::ResultKind::IntegerOfIntegers:
    case sym::ResultKind::LikeArguments:
      return std::ranges::any_of(expr->args, may_be_fractional);
    case sym::ResultKind::Unknown:
    case sym::ResultKind::Truth:
    case sym::ResultKind::Float:
      break;
  }
  return true;
}

namespace {

// The sum with x in place of each (x mod m) that b divides m of: they differ by a multiple of b.
const SymExpr* without_remainders(const SymExpr* sum, std::int64_t b) {
  Exprs terms = terms_of(sum);
  bool is_changed = false;
  for (const SymExpr*& term : terms) {
    const auto [coefficient, rest] = sym::split_term(term);
    if (rest == nullptr || !is_binary_call(rest, SymFunction::Mod) || !is_int(rest->args[1])) continue;
    const std::int64_t m = rest->args[1]->int_value;
    if (m == 0 || m % b != 0) continue;
    term = product_of({sym_int(coefficient), without_remainders(rest->args[0], b)});
    is_changed = true;
  }
  return is_changed ? sum_of(std::move(terms)) : sum;
}

// True if `expr` is a quotient without a remainder.
bool is_exact_quotient(const SymExpr* expr) {
  if (!is_binary_call(expr, SymFunction::FloorDiv) || !is_int(expr->args[1])) return false;
  return is_int(sym_call(SymFunction::Mod, expr->args), 0);
}

}  // namespace

// --- rules of functions

const SymExpr* sym::rules::sum(SymFunction /*function*/, const Exprs& args) {
  Exprs flat = flatten(SymFunction::Add, args);
  std::int64_t constant = take_integers(flat, 0, add_overflows);
  std::vector<sym::ScaledTerm> terms;
  for (const SymExpr* arg : flat) {
    sym::ScaledTerm term = sym::split_term(arg);
    terms.push_back(term.rest ? term : sym::ScaledTerm{1, arg});
  }
  std::ranges::sort(terms, [](const auto& a, const auto& b) {
    if (a.rest != b.rest) return before(a.rest, b.rest);
    return a.coefficient < b.coefficient;
  });
  Exprs sum;
  for (std::size_t i = 0; i < terms.size();) {
    const SymExpr* rest = terms[i].rest;
    std::int64_t coefficient = terms[i++].coefficient;
    while (i < terms.size() && terms[i].rest == rest && !is_constant(rest) &&
           !add_overflows(coefficient, terms[i].coefficient, &coefficient)) {
      ++i;
    }
    if (coefficient != 0) sum.push_back(scaled(coefficient, rest));
  }
  if (constant != 0 || sum.empty()) sum.push_back(sym_int(constant));
  return sum.size() == 1 ? sum[0] : make_call(SymFunction::Add, std::move(sum));
}

const SymExpr* sym::rules::product(SymFunction /*function*/, const Exprs& args) {
  Exprs flat = flatten(SymFunction::Mul, args);
  if (std::ranges::any_of(flat, [](const SymExpr* arg) { return is_int(arg, 0); })) return sym_int(0);
  std::int64_t coefficient = take_integers(flat, 1, mul_overflows);
  for (const SymExpr*& factor : flat) {  // k * (a/k) = a where k divides a
    if (coefficient == 1 || !is_exact_quotient(factor)) continue;
    const std::int64_t divisor = factor->args[1]->int_value;
    if (divisor == -1 || coefficient % divisor != 0) continue;
    factor = factor->args[0];
    flat.push_back(sym_int(coefficient / divisor));
    return product_of(std::move(flat));
  }
  Exprs factors = merge_factors(flat);
  if (factors.empty()) return sym_int(coefficient);
  if (factors.size() == 1 && coefficient != 1 && is_call(factors[0], SymFunction::Add)) {
    if (const SymExpr* sum = distribute(coefficient, factors[0])) return sum;
  }
  if (coefficient != 1) factors.insert(factors.begin(), sym_int(coefficient));
  return factors.size() == 1 ? factors[0] : make_call(SymFunction::Mul, std::move(factors));
}

// floor((q*b + r) / b) = q + floor(r/b); floor(g*a / (g*b)) = floor(a/b), also for a symbol g, which is not 0
// where the left side is defined; floor(floor(a/b) / c) = floor(a/(b*c)) for c > 0; a / (a/k) = k where k divides a.
const SymExpr* sym::rules::floor_div(SymFunction function, const Exprs& args) {
  const SymExpr* a = args[0];
  const SymExpr* b = args[1];
  if (is_int(b, 0) || !are_integers(a, b)) return make_call(function, args);
  if (is_int(a, 0) || is_int(b, 1)) return a;
  if (a == b) return sym_int(1);
  if (is_exact_quotient(b) && b->args[0] == a) return b->args[1];
  Exprs quotients;
  Exprs rest;
  for (const SymExpr* term : terms_of(a)) {
    const SymExpr* quotient = exact_quotient(term, b);
    (quotient ? quotients : rest).push_back(quotient ? quotient : term);
  }
  if (!quotients.empty()) {
    quotients.push_back(floor_div_of(sum_of(std::move(rest)), b));
    return sum_of(std::move(quotients));
  }
  if (std::int64_t divisor = common_divisor(a, b); divisor > 1) {
    return floor_div_of(divide_terms(a, sym_int(divisor)), divide_terms(b, sym_int(divisor)));
  }
  if (const SymExpr* factor = common_factor(a, b))
    return floor_div_of(divide_terms(a, factor), divide_terms(b, factor));
  if (is_binary_call(a, function) && is_int(b) && b->int_value > 0) {
    return floor_div_of(a->args[0], product_of({a->args[1], b}));
  }
  return make_call(function, args);
}

const SymExpr* sym::rules::ceil_div(SymFunction function, const Exprs& args) {
  const SymExpr* a = args[0];
  const SymExpr* b = args[1];
  if (is_int(b, 0) || !are_integers(a, b)) return make_call(function, args);
  const SymExpr* quotient = exact_quotient(a, b);
  return quotient ? quotient : make_call(function, args);
}

// (q*b + r) mod b = r mod b; coefficients are reduced by a constant b; (x + (-x mod 8)) mod 4 = 0.
const SymExpr* sym::rules::mod(SymFunction function, const Exprs& args) {
  const SymExpr* a = args[0];
  const SymExpr* b = args[1];
  if (is_int(b, 0) || !are_integers(a, b)) return make_call(function, args);
  if (is_int(b, 1) || is_int(b, -1)) return sym_int(0);
  if (is_int(b)) a = without_remainders(a, b->int_value);
  Exprs rest;
  for (const SymExpr* term : terms_of(a)) {
    if (exact_quotient(term, b)) continue;
    auto [coefficient, factor] = sym::split_term(term);
    if (!is_int(b)) {
      rest.push_back(term);
    } else if (factor == nullptr) {
      rest.push_back(sym_int(sym::floor_remainder(coefficient, b->int_value)));
    } else {
      rest.push_back(scaled(coefficient % b->int_value, factor));
    }
  }
  const SymExpr* reduced = sum_of(std::move(rest));
  if (is_int(reduced, 0)) return reduced;
  if (is_int(reduced) && is_int(b)) return sym_int(sym::floor_remainder(reduced->int_value, b->int_value));
  return make_call(function, {reduced, b});
}

// (base // divisor) mod modulus.
const SymExpr* sym::rules::modular_indexing(SymFunction /*function*/, const Exprs& args) {
  return sym_call(SymFunction::Mod, {floor_div_of(args[0], args[1]), args[2]});
}

const SymExpr* sym::rules::power(SymFunction function, const Exprs& args) {
  const SymExpr* base = args[0];
  const SymExpr* exponent = args[1];
  if (is_int(exponent, 0)) return sym_int(1);
  if (is_int(exponent, 1)) return base;
  if (is_int(exponent) && exponent->int_value > 0 && is_binary_call(base, function) &&
      is_int(base->args[1]) && base->args[1]->int_value > 0) {
    std::int64_t product = 0;
    if (!mul_overflows(base->args[1]->int_value, exponent->int_value, &product)) {
      return power(function, {base->args[0], sym_int(product)});
    }
  }
  return make_call(function, args);
}

// Max and Min: flattens nested calls, removes duplicates and combines the numbers.
const SymExpr* sym::rules::extremum(SymFunction function, const Exprs& args) {
  if (args.empty()) return make_call(function, {});
  Exprs flat = flatten(function, args);
  std::ranges::sort(flat, before);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  bool is_max = function == SymFunction::Max;
  const SymExpr* constant = nullptr;
  std::erase_if(flat, [&](const SymExpr* e) {
    if (!is_int(e)) return false;
    if (constant == nullptr || (e->int_value > constant->int_value) == is_max) constant = e;
    return true;
  });
  if (constant) flat.insert(flat.begin(), constant);
  return flat.size() == 1 ? flat[0] : make_call(function, std::move(flat));
}

// Evaluates relations between integers that differ by a constant: s0 < s0 + 1 is true.
const SymExpr* sym::rules::relation(SymFunction function, const Exprs& args) {
  const SymExpr* a = args[0];
  const SymExpr* b = args[1];
  if (are_integers(a, b)) {
    const SymExpr* difference = sum_of({a, product_of({sym_int(-1), b})});
    if (is_int(difference)) return fold(row_of(function), {difference, sym_int(0)});
  }
  return make_call(function, args);
}

const SymExpr* sym::rules::where(SymFunction function, const Exprs& args) {
  auto condition = truth_of(args[0]);
  if (!condition) return make_call(function, args);
  return *condition ? args[1] : args[2];
}

// --- calls

const SymExpr* sym_call(SymFunction function, Exprs args) {
  const sym::FunctionRow& row = sym::row_of(function);
  if (!row.takes(args.size())) return make_call(function, std::move(args));
  if (const SymExpr* value = fold(row, args)) return value;
  if (row.simplify != nullptr) return row.simplify(function, args);
  return make_call(function, std::move(args));
}

const SymExpr* sym_call(std::string_view name, Exprs args) {
  SymFunction function = sym::function_named(name);
  if (!sym::row_of(function).is_family) return sym_call(function, std::move(args));
  return make_call(function, Name::scoped(name), std::move(args));
}

const SymExpr* sym_call_like(const SymExpr* call, Exprs args) {
  if (!sym::row_of(call->function).is_family) return sym_call(call->function, std::move(args));
  return make_call(call->function, call->name, std::move(args));
}

}  // namespace depute
