// Functions of symbolic sizes, one row each: spelling, kind of value, evaluation, bounds, simplification,
// printing, and the op that computes it in a graph. Code that handles a call uses the row of its function
// instead of comparing names.
//
//   parse_sym("PythonMod(s0, 4)")              // the row "Mod" has that synonym
//   row_of((*expr)->function).value(numbers)   // its arithmetic
//
// The rows are in sym_functions.cpp. If a row omits a rule, calls of the function are not simplified, or have
// no value or no bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "depute/program/sym.h"
#include "ir/sym/sym_internal.h"

namespace depute::sym {

class Bounder;
struct FloatRange;

using Numbers = std::span<const Number>;

// Kind of a function's value.
enum class ResultKind : std::uint8_t {
  Unknown,
  Truth,              // 0 or 1
  Float,              // for all arguments
  Integer,            // for all arguments
  IntegerOfIntegers,  // integer if all arguments are integers
  LikeArguments,      // integer if all arguments are integers, float if one is a float
};

// Precedence of infix operators, from loosest to tightest.
enum class Level : std::uint8_t { Relation, Sum, Product, Power };

// Printed form of a call. Calls with an unsuitable number of arguments are printed as Call.
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
  SymFunction function = SymFunction::Unnamed;  // enumerator, if any
  std::string_view name;
  const char* synonyms[2] = {};  // further names in sympy and torch; null: none
  // True if the row stands for all functions whose names start with its name and that have no row of their
  // own. Their calls keep their names and have no arithmetic.
  bool is_family = false;
  std::uint8_t arity = any_number;  // with another number of arguments, only `result` applies
  ResultKind result = ResultKind::Unknown;

  // Text: infix operator between two arguments, and printed form.
  std::string_view infix = {};
  Level level = Level::Product;
  Form form = Form::Call;

  // Value; nullopt for a division by zero or an overflow.
  std::optional<Number> (*value)(Numbers args) = nullptr;
  // Replaces `value` if not all arguments need a value.
  std::optional<Number> (*lazy_value)(const Evaluator& evaluator, const Exprs& args) = nullptr;
  // A call with constant arguments becomes its value; false for Rational(1, 2), which must not become 0.5.
  bool is_folded = true;
  // Returns an equal expression in canonical form. Called when a call is made and not folded.
  const SymExpr* (*simplify)(SymFunction function, const Exprs& args) = nullptr;

  // Bounds of the value for at least one argument. Truth values need none. For LikeArguments, `bounds`
  // applies to integers and `float_bounds` to floats.
  Range (*bounds)(const Bounder& bounder, const Exprs& args) = nullptr;
  FloatRange (*float_bounds)(const Bounder& bounder, const Exprs& args) = nullptr;

  // Op that computes the function in a graph: "_operator.add". It takes two arguments if the function takes
  // any number.
  std::string_view op = {};

  bool takes(std::size_t count) const { return arity == any_number || arity == count; }
};

// All rows, indexed by SymFunction.
std::span<const FunctionRow> all_functions();
const FunctionRow& row_of(SymFunction function);

// Returns the function with a name or synonym; if no row has the name, its family.
SymFunction function_named(std::string_view name);
// Returns the function printed as this word; nullopt for other texts.
std::optional<SymFunction> function_of_word(std::string_view text);
// Returns the function that the op computes; Other if there is none.
SymFunction function_of_op(std::string_view op);
// Returns the row's name. Calls of a family have names of their own.
Name name_of(SymFunction function);

// Returns the function whose infix operator of this level `text` starts with; Other if there is none.
SymFunction infix_at(std::string_view text, Level level);

}  // namespace depute::sym
