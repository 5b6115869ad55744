// The functions of symbolic sizes, one row each: how it is spelled, what kind of value it has, how it is
// computed, bounded, simplified and printed, and which op computes it in a graph. Whoever meets a call asks
// the row of its function; no one compares names.
//
//   parse_sym("PythonMod(s0, 4)")              // the row "Mod" has that synonym
//   row_of((*expr)->function).value(numbers)   // its arithmetic
//
// The rows are in sym_functions.cpp. What a row leaves out, the function does not have: a call of it stays a
// call, without value and without bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "depute/sym.h"
#include "ir/sym_internal.h"

namespace depute::sym {

class Bounder;
struct FloatRange;

using Numbers = std::span<const Number>;

// What is known of a function's value.
enum class ResultKind : std::uint8_t {
  Unknown,
  Truth,              // 0 or 1
  Float,              // whatever the arguments are
  Integer,            // whatever the arguments are
  IntegerOfIntegers,  // an integer when all arguments are
  LikeArguments,      // an integer when all arguments are, a float when one is
};

// How tightly an infix operator binds; the loosest first.
enum class Level : std::uint8_t { Relation, Sum, Product, Power };

// How a call is printed; with a number of arguments that does not suit the form, as Call.
enum class Form : std::uint8_t {
  Call,      // Max(1, s0)
  Word,      // true
  Sum,       // s0 - 2*s1 + 1
  Product,   // 2*s0*s1
  Quotient,  // (s0//2), always with parentheses
  Power,     // s0**2
};

inline constexpr std::uint8_t any_number = 0xFF;

struct FunctionRow {
  SymFunction function = SymFunction::Unnamed;  // its enumerator, if it has one
  std::string_view name;
  const char* synonyms[2] = {};  // what sympy and torch call it as well; null: no more
  // Stands for all functions whose names begin with the row's and that have no row of their own. Calls of
  // them keep their names and have no arithmetic.
  bool is_family = false;
  std::uint8_t arity = any_number;  // with another number of arguments nothing below but `result` holds
  ResultKind result = ResultKind::Unknown;

  // Text: an operator that is read between two arguments, and how calls are printed.
  std::string_view infix = {};
  Level level = Level::Product;
  Form form = Form::Call;

  // The value; nothing when it divides by zero or overflows.
  std::optional<Number> (*value)(Numbers args) = nullptr;
  // In place of `value`, when not all arguments need one.
  std::optional<Number> (*lazy_value)(const Evaluator& evaluator, const Exprs& args) = nullptr;
  bool is_folded = true;  // a call of numbers becomes its value: Rational(1, 2) does not become 0.5
  // An equal expression, in canonical form. Asked when the call is made, unless it was folded.
  const SymExpr* (*simplify)(SymFunction function, const Exprs& args) = nullptr;

  // Bounds of the value, of one argument at least. A truth value needs none, and a value that is
  // LikeArguments has `bounds` of integers and `float_bounds` otherwise.
  Range (*bounds)(const Bounder& bounder, const Exprs& args) = nullptr;
  FloatRange (*float_bounds)(const Bounder& bounder, const Exprs& args) = nullptr;

  // Computes the function in a graph: "_operator.add". Of functions of any number of arguments it takes two.
  std::string_view op = {};

  bool takes(std::size_t count) const { return arity == any_number || arity == count; }
};

// All rows; a SymFunction is the number of its row.
std::span<const FunctionRow> all_functions();
const FunctionRow& row_of(SymFunction function);

// The function of a name or synonym; that of a family when no row has it.
SymFunction function_named(std::string_view name);
// The function that is printed as this word; nothing for all other texts.
std::optional<SymFunction> function_of_word(std::string_view text);
// The function that the op computes; Other when it is none.
SymFunction function_of_op(std::string_view op);
// The row's name. Calls of a family have their own.
Symbol name_of(SymFunction function);

// The function of the infix operator of the level that the text begins with; Other when there is none.
SymFunction infix_at(std::string_view text, Level level);

}  // namespace depute::sym
