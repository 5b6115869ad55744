// Table of the functions of symbolic sizes, and the arithmetic used by its rows.
//
//   {.name = "CeilDiv", .arity = 2, .result = ..., .value = ceil_division, .simplify = rules::ceil_div, ...}
//
// To add a function, append a row to the table. If other code refers to the function, add an enumerator to
// SymFunction and put the row at that position.
#include "ir/sym/sym_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "ir/sym/sym_intervals.h"

namespace depute::sym {
namespace {

// --- values

using Answer = std::optional<Number>;

bool any_float(Numbers args) {
  return std::ranges::any_of(args, &Number::is_float);
}

Answer sum(Numbers args) {
  Number total = Number::of(std::int64_t{0});
  for (const Number& arg : args) {
    if (total.is_float || arg.is_float) {
      total = Number::of(total.as_double() + arg.as_double());
    } else if (__builtin_add_overflow(total.integer, arg.integer, &total.integer)) {
      return std::nullopt;
    }
  }
  return total;
}

Answer product(Numbers args) {
  Number total = Number::of(std::int64_t{1});
  for (const Number& arg : args) {
    if (total.is_float || arg.is_float) {
      total = Number::of(total.as_double() * arg.as_double());
    } else if (__builtin_mul_overflow(total.integer, arg.integer, &total.integer)) {
      return std::nullopt;
    }
  }
  return total;
}

// True if the integer quotient is defined and fits 64 bits.
bool divides(Number a, Number b) {
  return !a.is_float && !b.is_float && b.integer != 0 && !(a.integer == Range::min_bound && b.integer == -1);
}

Answer floor_division(Numbers args) {
  if (!divides(args[0], args[1])) return std::nullopt;
  return Number::of(floor_quotient(args[0].integer, args[1].integer));
}

Answer ceil_division(Numbers args) {
  if (!divides(args[0], args[1])) return std::nullopt;
  return Number::of(floor_quotient(args[0].integer, args[1].integer) +
                    (floor_remainder(args[0].integer, args[1].integer) != 0));
}

Answer modulus(Numbers args) {
  if (!divides(args[0], args[1])) return std::nullopt;
  return Number::of(floor_remainder(args[0].integer, args[1].integer));
}

Answer true_division(Numbers args) {
  if (args[1].as_double() == 0) return std::nullopt;
  return Number::of(args[0].as_double() / args[1].as_double());
}

// Returns no answer for NaN, where Python gives a complex number or an error.
Answer unless_nan(double value) {
  return std::isnan(value) ? std::nullopt : Answer(Number::of(value));
}

Answer float_power(Numbers args) {
  return unless_nan(std::pow(args[0].as_double(), args[1].as_double()));
}

Answer power(Numbers args) {
  if (any_float(args)) return float_power(args);
  std::int64_t exponent = args[1].integer;
  if (exponent < 0) return std::nullopt;
  std::int64_t result = 1;
  std::int64_t square = args[0].integer;
  for (std::int64_t e = exponent; e > 0; e >>= 1) {
    if ((e & 1) && __builtin_mul_overflow(result, square, &result)) return std::nullopt;
    if (e > 1 && __builtin_mul_overflow(square, square, &square)) return std::nullopt;
  }
  return Number::of(result);
}

Answer left_shift(Numbers args) {
  Number a = args[0];
  Number b = args[1];
  if (any_float(args) || b.integer < 0) return std::nullopt;
  if (a.integer == 0) return a;
  std::int64_t result = 0;
  if (b.integer > 62 || __builtin_mul_overflow(a.integer, std::int64_t{1} << b.integer, &result))
    return std::nullopt;
  return Number::of(result);
}

Answer right_shift(Numbers args) {
  if (any_float(args) || args[1].integer < 0) return std::nullopt;
  return Number::of(args[0].integer >> std::min<std::int64_t>(args[1].integer, 63));
}

// Returns the argument that `Before` orders first, as a float if any argument is a float.
template <typename Before>
Answer extremum(Numbers args) {
  if (args.empty()) return std::nullopt;
  if (!any_float(args)) return *std::ranges::min_element(args, Before(), &Number::integer);
  return Number::of(std::ranges::min(args, Before(), &Number::as_double).as_double());
}

Answer truth(bool value) {
  return Number::of(std::int64_t{value});
}

std::partial_ordering order(Numbers args) {
  if (any_float(args)) return args[0].as_double() <=> args[1].as_double();
  return args[0].integer <=> args[1].integer;
}

template <double (*round)(double)>
Answer rounded(Numbers args) {
  return args[0].is_float ? to_integer(round(args[0].real)) : args[0];
}

// Branches are pairs of a value and a condition; the first branch whose condition holds counts.
Answer piecewise(const Evaluator& evaluator, const Exprs& branches) {
  for (const SymExpr* branch : branches) {
    if (!is_call(branch, SymFunction::ExprCondPair) || branch->args.size() != 2) return std::nullopt;
    auto holds = evaluator.holds(branch->args[1]);
    if (!holds) return std::nullopt;
    if (*holds) return evaluator.value(branch->args[0]);
  }
  return std::nullopt;
}

Answer where(const Evaluator& evaluator, const Exprs& args) {
  auto holds = evaluator.holds(args[0]);
  if (!holds) return std::nullopt;
  return evaluator.value(args[*holds ? 1 : 2]);
}

// --- bounds

// Combines the bounds of all arguments from left to right.
template <Range (*combine)(Range, Range)>
Range combined(const Bounder& bounder, const Exprs& args) {
  Range result = bounder.of(args[0]);
  for (std::size_t i = 1; i < args.size(); ++i) result = combine(result, bounder.of(args[i]));
  return result;
}

template <FloatRange (*combine)(FloatRange, FloatRange)>
FloatRange combined_floats(const Bounder& bounder, const Exprs& args, FloatRange neutral) {
  for (const SymExpr* arg : args) neutral = combine(neutral, bounder.of_float(arg));
  return neutral;
}

Range greatest(Range a, Range b) {
  return {std::max(a.min, b.min), std::max(a.max, b.max)};
}
Range least(Range a, Range b) {
  return {std::min(a.min, b.min), std::min(a.max, b.max)};
}

FloatRange float_quotient(const Bounder& bounder, const Exprs& args) {
  return divide(bounder.of_float(args[0]), bounder.of_float(args[1]));
}

template <double (*round)(double)>
Range rounded_bounds(const Bounder& bounder, const Exprs& args) {
  return to_range(bounder.of_float(args[0]), round);
}

// --- rows

using Value = Answer (*)(Numbers);

constexpr FunctionRow relation(SymFunction function, std::string_view name, const char* sympy_name,
                               std::string_view infix, std::string_view op, Value value) {
  return {.function = function,
          .name = name,
          .synonyms = {sympy_name},
          .arity = 2,
          .result = ResultKind::Truth,
          .infix = infix,
          .level = Level::Relation,
          .value = value,
          .simplify = rules::relation,
          .op = op};
}

constexpr FunctionRow truth_value(SymFunction function, std::string_view name, const char* python_name,
                                  Value value) {
  return {.function = function,
          .name = name,
          .synonyms = {python_name},
          .result = ResultKind::Truth,
          .form = Form::Word,
          .value = value};
}

template <double (*round)(double)>
constexpr FunctionRow rounding(std::string_view name, std::string_view op = {}) {
  return {.name = name,
          .arity = 1,
          .result = ResultKind::Integer,
          .value = rounded<round>,
          .bounds = rounded_bounds<round>,
          .op = op};
}

constexpr FunctionRow rows[] = {
    {.function = SymFunction::Other, .name = "", .is_family = true},
    {.function = SymFunction::Add,
     .name = "Add",
     .result = ResultKind::LikeArguments,
     .infix = "+",
     .level = Level::Sum,
     .form = Form::Sum,
     .value = sum,
     .simplify = rules::sum,
     .bounds = combined<add>,
     .float_bounds = [](const Bounder& b,
                        const Exprs& args) { return combined_floats<add>(b, args, {0, 0}); },
     .op = "_operator.add"},
    {.function = SymFunction::Mul,
     .name = "Mul",
     .result = ResultKind::LikeArguments,
     .infix = "*",
     .form = Form::Product,
     .value = product,
     .simplify = rules::product,
     .bounds = combined<multiply>,
     .float_bounds = [](const Bounder& b,
                        const Exprs& args) { return combined_floats<multiply>(b, args, {1, 1}); },
     .op = "_operator.mul"},
    {.function = SymFunction::Pow,
     .name = "Pow",
     .synonyms = {"PowByNatural"},
     .arity = 2,
     .result = ResultKind::IntegerOfIntegers,  // except for 2**(-1): see may_be_fractional()
     .infix = "**",
     .level = Level::Power,
     .form = Form::Power,
     .value = power,
     .simplify = rules::power,
     .bounds = [](const Bounder& b, const Exprs& args) { return raise(b.of(args[0]), args[1]); },
     .op = "_operator.pow"},
    {.function = SymFunction::FloorDiv,
     .name = "FloorDiv",
     .synonyms = {"CleanDiv"},
     .arity = 2,
     .result = ResultKind::IntegerOfIntegers,
     .infix = "//",
     .form = Form::Quotient,
     .value = floor_division,
     .simplify = rules::floor_div,
     .bounds = [](const Bounder& b, const Exprs& args) { return floor_divide(b.of(args[0]), b.of(args[1])); },
     .op = "_operator.floordiv"},
    {.function = SymFunction::Mod,
     .name = "Mod",
     .synonyms = {"PythonMod"},
     .arity = 2,
     .result = ResultKind::IntegerOfIntegers,
     .infix = "%",
     .value = modulus,
     .simplify = rules::mod,
     .bounds = [](const Bounder& b, const Exprs& args) { return remainder(b.of(args[0]), b.of(args[1])); },
     .op = "_operator.mod"},
    {.function = SymFunction::Max,
     .name = "Max",
     .result = ResultKind::LikeArguments,
     .value = extremum<std::greater<>>,
     .simplify = rules::extremum,
     .bounds = combined<greatest>,
     .op = "torch.sym_max"},
    {.function = SymFunction::Min,
     .name = "Min",
     .result = ResultKind::LikeArguments,
     .value = extremum<std::less<>>,
     .simplify = rules::extremum,
     .bounds = combined<least>,
     .op = "torch.sym_min"},
    {.function = SymFunction::LShift,
     .name = "LShift",
     .arity = 2,
     .result = ResultKind::IntegerOfIntegers,
     .value = left_shift,
     .op = "_operator.lshift"},
    {.function = SymFunction::RShift,
     .name = "RShift",
     .arity = 2,
     .result = ResultKind::IntegerOfIntegers,
     .value = right_shift,
     .op = "_operator.rshift"},
    {.function = SymFunction::Rational,
     .name = "Rational",
     .arity = 2,
     .result = ResultKind::Float,
     .infix = "/",
     .value = true_division,
     .is_folded = false,
     .float_bounds = float_quotient},
    {.function = SymFunction::Identity,
     .name = "Identity",
     .arity = 1,
     .value = [](Numbers args) { return Answer(args[0]); },
     .simplify = [](SymFunction, const Exprs& args) { return args[0]; },
     .op = "_operator.pos"},
    relation(SymFunction::Eq, "Eq", "Equality", "==", "_operator.eq",
             [](Numbers args) { return truth(order(args) == 0); }),
    relation(SymFunction::Ne, "Ne", "Unequality", "!=", "_operator.ne",
             [](Numbers args) { return truth(order(args) != 0); }),
    relation(SymFunction::Lt, "Lt", "StrictLessThan", "<", "_operator.lt",
             [](Numbers args) { return truth(order(args) < 0); }),
    relation(SymFunction::Le, "Le", "LessThan", "<=", "_operator.le",
             [](Numbers args) { return truth(order(args) <= 0); }),
    relation(SymFunction::Gt, "Gt", "StrictGreaterThan", ">", "_operator.gt",
             [](Numbers args) { return truth(order(args) > 0); }),
    relation(SymFunction::Ge, "Ge", "GreaterThan", ">=", "_operator.ge",
             [](Numbers args) { return truth(order(args) >= 0); }),
    {.function = SymFunction::And,
     .name = "And",
     .result = ResultKind::Truth,
     .value = [](Numbers args) { return truth(std::ranges::all_of(args, &Number::is_true)); },
     .op = "_operator.and_"},
    {.function = SymFunction::Or,
     .name = "Or",
     .result = ResultKind::Truth,
     .value = [](Numbers args) { return truth(std::ranges::any_of(args, &Number::is_true)); },
     .op = "_operator.or_"},
    {.function = SymFunction::Not,
     .name = "Not",
     .arity = 1,
     .result = ResultKind::Truth,
     .value = [](Numbers args) { return truth(!args[0].is_true()); },
     .op = "torch.sym_not"},
    truth_value(SymFunction::True, "true", "True", [](Numbers) { return truth(true); }),
    truth_value(SymFunction::False, "false", "False", [](Numbers) { return truth(false); }),
    // A branch of Piecewise: a value and its condition.
    {.function = SymFunction::ExprCondPair,
     .name = "ExprCondPair",
     .arity = 2,
     .bounds = [](const Bounder& b, const Exprs& args) { return b.of(args[0]); }},

    // Functions without an enumerator.
    {.name = "CeilDiv",
     .arity = 2,
     .result = ResultKind::IntegerOfIntegers,
     .value = ceil_division,
     .simplify = rules::ceil_div,
     .bounds = [](const Bounder& b,
                  const Exprs& args) { return negate(floor_divide(negate(b.of(args[0])), b.of(args[1]))); }},
    {.name = "ModularIndexing", .arity = 3, .simplify = rules::modular_indexing},
    {.name = "Where",
     .arity = 3,
     .result = ResultKind::IntegerOfIntegers,
     .lazy_value = where,
     .simplify = rules::where,
     .bounds = [](const Bounder& b, const Exprs& args) { return hull(b.of(args[1]), b.of(args[2])); },
     .op = "torch.sym_ite"},
    {.name = "Piecewise", .lazy_value = piecewise, .bounds = combined<hull>},
    rounding<std::trunc>("TruncToInt", "math.trunc"),
    rounding<std::floor>("FloorToInt"),
    rounding<std::ceil>("CeilToInt"),
    rounding<std::nearbyint>("RoundToInt"),
    {.name = "ToFloat",
     .arity = 1,
     .result = ResultKind::Float,
     .value = [](Numbers args) { return Answer(Number::of(args[0].as_double())); },
     .float_bounds = [](const Bounder& b, const Exprs& args) { return b.of_float(args[0]); },
     .op = "torch.sym_float"},
    {.name = "TruncToFloat",
     .arity = 1,
     .result = ResultKind::Float,
     .value = [](Numbers args) { return Answer(Number::of(std::trunc(args[0].as_double()))); }},
    {.name = "IntTrueDiv",
     .arity = 2,
     .result = ResultKind::Float,
     .value = true_division,
     .float_bounds = float_quotient,
     .op = "_operator.truediv"},
    {.name = "FloatTrueDiv",
     .arity = 2,
     .result = ResultKind::Float,
     .value = true_division,
     .float_bounds = float_quotient},
    {.name = "FloatPow", .arity = 2, .result = ResultKind::Float, .value = float_power},
    {.name = "OpaqueUnaryFn_sqrt",
     .arity = 1,
     .result = ResultKind::Float,
     .value = [](Numbers args) { return unless_nan(std::sqrt(args[0].as_double())); },
     .op = "torch._sym_sqrt"},
    {.name = "OpaqueUnaryFn", .is_family = true, .result = ResultKind::Float},
};

constexpr std::size_t row_count = std::size(rows);
static_assert(row_count < 256);

constexpr std::size_t number_of(SymFunction function) {
  return static_cast<std::size_t>(function);
}

// Checks that each enumerator has its row at its position, and that other rows have none.
consteval bool rows_follow_enumerators() {
  for (std::size_t i = 0; i < row_count; ++i) {
    bool has_enumerator = i < number_of(SymFunction::Unnamed);
    if (number_of(rows[i].function) != (has_enumerator ? i : number_of(SymFunction::Unnamed))) return false;
  }
  return row_count >= number_of(SymFunction::Unnamed);
}
static_assert(rows_follow_enumerators());

// --- rows by name, word and infix operator

struct Spelling {
  std::string_view text;
  SymFunction function;
};

constexpr bool spelled_before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

template <typename Visit>
constexpr void for_each_spelling(Visit visit) {
  for (std::size_t i = 0; i < row_count; ++i) {
    if (rows[i].is_family) continue;
    auto function = static_cast<SymFunction>(i);
    visit(Spelling{rows[i].name, function});
    for (const char* synonym : rows[i].synonyms) {
      if (synonym != nullptr) visit(Spelling{synonym, function});
    }
  }
}

consteval std::size_t count_spellings() {
  std::size_t count = 0;
  for_each_spelling([&](Spelling) { ++count; });
  return count;
}

constexpr auto spellings = [] {
  std::array<Spelling, count_spellings()> all;
  std::size_t at = 0;
  for_each_spelling([&](Spelling spelling) { all[at++] = spelling; });
  std::ranges::sort(all, spelled_before, &Spelling::text);
  return all;
}();
static_assert(std::ranges::adjacent_find(spellings, {}, &Spelling::text) == spellings.end(),
              "two functions have the same name");

constexpr bool is_word(const Spelling& spelling) {
  return rows[number_of(spelling.function)].form == Form::Word;
}

constexpr auto words = [] {
  std::array<Spelling, std::ranges::count_if(spellings, is_word)> all;
  std::ranges::copy_if(spellings, all.begin(), is_word);
  return all;
}();

struct Infix {
  std::string_view text;
  Level level;
  SymFunction function;
};

// Longer operators come before their prefixes.
constexpr auto infixes = [] {
  std::array<Infix, std::ranges::count_if(rows, [](const FunctionRow& row) { return !row.infix.empty(); })>
      all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < row_count; ++i) {
    if (!rows[i].infix.empty()) all[at++] = {rows[i].infix, rows[i].level, static_cast<SymFunction>(i)};
  }
  std::ranges::sort(
      all, [](std::string_view a, std::string_view b) { return spelled_before(b, a); }, &Infix::text);
  return all;
}();

// Per character: whether an infix operator starts with it.
constexpr auto begins_infix = [] {
  std::array<bool, 256> begins = {};
  for (const Infix& infix : infixes) begins[static_cast<unsigned char>(infix.text[0])] = true;
  return begins;
}();

}  // namespace

std::optional<Number> to_integer(double real) {
  if (!(real >= -0x1p63 && real < 0x1p63)) return std::nullopt;
  return Number::of(static_cast<std::int64_t>(real));
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::span<const FunctionRow> all_functions() {
  return rows;
}

const FunctionRow& row_of(SymFunction function) {
  return rows[number_of(function)];
}

SymFunction function_named(std::string_view name) {
  auto found = std::ranges::lower_bound(spellings, name, spelled_before, &Spelling::text);
  if (found != spellings.end() && found->text == name) return found->function;
  for (std::size_t i = row_count; i-- > 1;) {
    if (rows[i].is_family && name.starts_with(rows[i].name)) return static_cast<SymFunction>(i);
  }
  return SymFunction::Other;
}

std::optional<SymFunction> function_of_word(std::string_view text) {
  auto found = std::ranges::find(words, text, &Spelling::text);
  return found == words.end() ? std::nullopt : std::optional(found->function);
}

SymFunction function_of_op(std::string_view op) {
  auto found = std::ranges::find(rows, op, &FunctionRow::op);
  bool is_known = !op.empty() && found != std::end(rows);
  return is_known ? static_cast<SymFunction>(found - rows) : SymFunction::Other;
}

Name name_of(SymFunction function) {
  static const auto names = [] {
    std::array<Name, row_count> all;
    std::ranges::transform(rows, all.begin(), [](const FunctionRow& row) { return Name(row.name); });
    return all;
  }();
  return names[number_of(function)];
}

SymFunction infix_at(std::string_view text, Level level) {
  if (text.empty() || !begins_infix[static_cast<unsigned char>(text[0])]) return SymFunction::Other;
  for (const Infix& infix : infixes) {
    if (text.starts_with(infix.text)) return infix.level == level ? infix.function : SymFunction::Other;
  }
  return SymFunction::Other;
}

}  // namespace depute::sym
