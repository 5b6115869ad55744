// Symbolic integers: sizes known only at run time, as expressions over named symbols with ranges.
//
//   SymInt h = SymInt::symbol("s96");
//   SymInt half = floor_div(h * 2, 4);            // printed "(s96//2)"
//   Range range = bounds(half, ranges);           // [0, 64] when s96 is in [1, 128]
//
// Expressions are hash-consed: equal expressions are the same pointer, and live as long as names (name_scope.h). Sums
// and products are canonical (sorted terms, merged coefficients), so h + h == 2 * h. Functions are those that
// torch.export writes (FloorDiv, Mod, Max, ...), one row each in sym_functions.cpp. A function without
// arithmetic there is kept by name, and still printed and parsed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/name.h"
#include "depute/program/result.h"

namespace depute {

// A function, as an index into the rows of sym_functions.cpp. Enumerators exist only for functions that other
// code refers to; the remaining rows follow.
enum class SymFunction : std::uint8_t {
  Other,  // a function without a row
  Add,
  Mul,
  Pow,
  FloorDiv,
  Mod,
  Max,
  Min,
  LShift,
  RShift,
  Rational,
  Identity,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  True,
  False,
  ExprCondPair,
  Unnamed,  // first row without an enumerator
};

// A node of an expression tree: a number, a symbol, or a function of expressions.
struct SymExpr {
  enum class Kind : std::uint8_t { Int, Float, Symbol, Call };
  Kind kind;
  SymFunction function = SymFunction::Other;  // Call
  std::int64_t int_value = 0;                 // Int
  double float_value = 0;                     // Float
  Name name;                                  // Symbol: its name; Call: name of the function
  std::vector<const SymExpr*> args;           // Call
  std::uint32_t depth = 1;
  std::uint32_t size = 1;  // number of nodes of the tree
};

// An integer that is a constant or an expression.
class DEPUTE_API SymInt {
 public:
  constexpr SymInt(std::int64_t value = 0) : value_(value) {}  // NOLINT: integers are sizes everywhere
  explicit SymInt(const SymExpr* expr);                        // an Int expression becomes a constant
  static SymInt symbol(std::string_view name);

  bool is_constant() const { return expr_ == nullptr; }
  // Requires is_constant(); otherwise throws, which ends the compilation with an internal error.
  std::int64_t value() const {
    if (expr_ != nullptr) no_value();
    return value_;
  }
  const SymExpr* expr() const;  // also for constants
  std::string str() const;      // infix text: "2*s96 + 1", "(s0//2)", "Max(1, s0)"

  friend bool operator==(const SymInt&, const SymInt&) = default;
  friend bool operator==(const SymInt& a, std::int64_t b) { return a.expr_ == nullptr && a.value_ == b; }

 private:
  [[noreturn]] void no_value() const;

  std::int64_t value_ = 0;
  const SymExpr* expr_ = nullptr;
};

DEPUTE_API SymInt operator+(const SymInt& a, const SymInt& b);
DEPUTE_API SymInt operator-(const SymInt& a, const SymInt& b);
DEPUTE_API SymInt operator*(const SymInt& a, const SymInt& b);
DEPUTE_API SymInt floor_div(const SymInt& a, const SymInt& b);
DEPUTE_API SymInt mod(const SymInt& a, const SymInt& b);  // as in Python: has the sign of b
DEPUTE_API SymInt sym_max(const SymInt& a, const SymInt& b);
DEPUTE_API SymInt sym_min(const SymInt& a, const SymInt& b);
DEPUTE_API SymInt product(std::span<const SymInt> factors);

// Interned constructors; `sym_call` simplifies (constant folding, canonical Add and Mul).
//
// Functions may be given by name, as in files; synonyms are unified (PythonMod is Mod, sympy's Equality is
// Eq). The truth values are calls of True and False without arguments. Arithmetic that would overflow is not
// evaluated.
//
// An expression beyond max_sym_depth or max_sym_size becomes a symbol "deep_<hash>". This symbol is equal to
// itself, but has no known bounds.
DEPUTE_API const SymExpr* sym_int(std::int64_t value);
DEPUTE_API const SymExpr* sym_float(double value);
DEPUTE_API const SymExpr* sym_symbol(std::string_view name);
// `function` must not be Other.
DEPUTE_API const SymExpr* sym_call(SymFunction function, std::vector<const SymExpr*> args);
DEPUTE_API const SymExpr* sym_call(std::string_view function, std::vector<const SymExpr*> args);
// Calls the function of `call` with other arguments.
DEPUTE_API const SymExpr* sym_call_like(const SymExpr* call, std::vector<const SymExpr*> args);

inline constexpr std::uint32_t max_sym_depth = 256;
inline constexpr std::uint32_t max_sym_size = 4096;

// Infix text of an expression, and its parser. Parsing fails with the column of the error, also for an
// expression beyond max_sym_depth or max_sym_size.
DEPUTE_API std::string str(const SymExpr* expr);
DEPUTE_API Result<const SymExpr*> parse_sym(std::string_view text);

// Inclusive bounds. max_bound means that no upper bound is known.
struct Range {
  static constexpr std::int64_t max_bound = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t min_bound = std::numeric_limits<std::int64_t>::min();
  std::int64_t min = min_bound;
  std::int64_t max = max_bound;
  friend bool operator==(const Range&, const Range&) = default;
};

// Ranges by symbol name, in text order. A key may also be the text of an expression ("2*s96"), which is then
// constrained.
using Ranges = std::map<std::string, Range, std::less<>>;

DEPUTE_API Range bounds(const SymExpr* expr, const Ranges& ranges);  // saturating interval arithmetic
DEPUTE_API Range bounds(const SymInt& value, const Ranges& ranges);

// Evaluates an expression for given symbols. Returns nullopt for a missing symbol, a division by zero, or a
// function without arithmetic.
DEPUTE_API std::optional<std::int64_t> evaluate(
    const SymInt& value, const std::map<std::string, std::int64_t, std::less<>>& symbols);

// Returns the symbols of an expression, each once, in order of first occurrence.
DEPUTE_API std::vector<Name> symbols_of(const SymExpr* expr);

}  // namespace depute
