// Formulas over tensors in mathematical notation:
//
//   Term x = float_operand(b, call, "self");
//   return result(call, where(x == 0, 1.0, sin(x) / x));
//
// Operands are converted to the type that eager PyTorch computes in, and the result to the type of the op:
// half precision is computed in f32 and rounded once. After a failure terms are null, and further operations
// have no effect.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "depute/program/builder.h"
#include "ops/op_table.h"

namespace depute::internal {

class Term;

// A number, or an expression over tensors. The nodes of an expression are added once a Term or a value is made
// of it, those of the last operand first: C++ leaves it open which argument of a call is evaluated first.
class Formula {
 public:
  // Conversions are intended.
  Formula(int number) : number_(Argument::of(number)) {}           // NOLINT
  Formula(std::int64_t number) : number_(Argument::of(number)) {}  // NOLINT
  Formula(double number) : number_(Argument::of(number)) {}        // NOLINT
  Formula(bool number) : number_(Argument::of(number)) {}          // NOLINT
  Formula(const Argument& number) : number_(number) {}             // NOLINT

  // Returns a formula whose nodes `build` adds, called at most once.
  static Formula later(std::function<Term()> build);

  Value* value() const;
  Formula to(ScalarType dtype) const;
  // Returns op(this, rest...).
  Formula call(std::string_view op, std::initializer_list<BuilderArgument> rest = {}) const;

  friend Formula operator+(const Formula& a, const Formula& b) { return sum_or_product("add", a, b); }
  friend Formula operator-(const Formula& a, const Formula& b) { return of("aten.sub.Tensor", {a, b}); }
  friend Formula operator*(const Formula& a, const Formula& b) { return sum_or_product("mul", a, b); }
  friend Formula operator/(const Formula& a, const Formula& b) {
    return a.is_one() ? b.call("aten.reciprocal.default") : of("aten.div.Tensor", {a, b});
  }
  friend Formula operator==(const Formula& a, const Formula& b) { return compare("eq", a, b); }
  friend Formula operator!=(const Formula& a, const Formula& b) { return compare("ne", a, b); }
  friend Formula operator<(const Formula& a, const Formula& b) { return compare("lt", a, b); }
  friend Formula operator<=(const Formula& a, const Formula& b) { return compare("le", a, b); }
  friend Formula operator>(const Formula& a, const Formula& b) { return compare("gt", a, b); }
  friend Formula operator>=(const Formula& a, const Formula& b) { return compare("ge", a, b); }
  friend Formula operator-(const Formula& x) { return x.call("aten.neg.default"); }
  friend Formula operator!(const Formula& x) { return x.call("aten.logical_not.default"); }
  friend Formula operator&(const Formula& a, const Formula& b) {
    return of("aten.logical_and.default", {a, b});
  }
  friend Formula operator|(const Formula& a, const Formula& b) {
    return of("aten.logical_or.default", {a, b});
  }
  friend Formula max(const Formula& a, const Formula& b) { return of("aten.maximum.default", {a, b}); }
  friend Formula min(const Formula& a, const Formula& b) { return of("aten.minimum.default", {a, b}); }
  friend Formula where(const Formula& condition, const Formula& a, const Formula& b) {
    return of("aten.where.self", {condition, a, b});
  }
  friend Formula abs(const Formula& x) { return x.call("aten.abs.default"); }
  friend Formula exp(const Formula& x) { return x.call("aten.exp.default"); }
  friend Formula log(const Formula& x) { return x.call("aten.log.default"); }
  friend Formula log1p(const Formula& x) { return x.call("aten.log1p.default"); }
  friend Formula sqrt(const Formula& x) { return x.call("aten.sqrt.default"); }
  friend Formula expm1(const Formula& x) { return x.call("aten.expm1.default"); }
  friend Formula sin(const Formula& x) { return x.call("aten.sin.default"); }
  friend Formula cos(const Formula& x) { return x.call("aten.cos.default"); }
  friend Formula sinh(const Formula& x) { return x.call("aten.sinh.default"); }
  friend Formula cosh(const Formula& x) { return x.call("aten.cosh.default"); }
  friend Formula floor(const Formula& x) { return x.call("aten.floor.default"); }
  friend Formula trunc(const Formula& x) { return x.call("aten.trunc.default"); }
  friend Formula is_nan(const Formula& x) { return x.call("aten.isnan.default"); }

 private:
  friend class Term;
  struct Pending;

  Formula(Builder& b, Value* value) : builder_(&b), value_(value) {}
  // Adds the nodes; returns a number as it is.
  Formula built() const;
  // Returns op(operands...).
  static Formula of(std::string_view op, std::initializer_list<Formula> operands);
  static Formula sum_or_product(std::string_view op, const Formula& a, const Formula& b);
  // Returns op.Scalar(a, b) for a number b, else op.Tensor(a, b).
  static Formula compare(std::string_view op, const Formula& a, const Formula& b);
  bool is_number() const { return builder_ == nullptr && pending_ == nullptr && !number_.is_value(); }
  bool is_one() const { return is_number() && number_.as_double() == 1; }
  BuilderArgument argument() const { return builder_ == nullptr ? BuilderArgument(number_) : value_; }

  Builder* builder_ = nullptr;  // of a Term
  Value* value_ = nullptr;
  Argument number_;
  std::shared_ptr<Pending> pending_;
};

// A tensor: a formula whose nodes have been added.
class Term : public Formula {
 public:
  Term(Builder& b, Value* value) : Formula(b, value) {}
  Term(const Formula& formula) : Formula(formula.built()) {}  // NOLINT: conversions are intended

  Builder& builder() const { return *builder_; }
  ScalarType dtype() const { return value_ == nullptr ? ScalarType::F32 : value_->tensor().dtype; }
  const Dims& sizes() const;
  std::size_t rank() const { return sizes().size(); }
};

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// Returns f32 for half precision and integers, otherwise the type itself.
ScalarType computing_type(ScalarType dtype);
// Returns the argument; a number becomes a tensor of the call's promoted type.
Term operand(Builder& b, const OpCall& call, std::string_view name);
Term operand(ScalarType dtype, Builder& b, const OpCall& call, std::string_view name);
// Like operand(), in the computing type of the call's promoted type.
Term float_operand(Builder& b, const OpCall& call, std::string_view name);
// Returns the call's argument without conversion.
Term tensor_operand(Builder& b, const OpCall& call, std::string_view name);
// Returns the term in the type of the call's first result.
Replacement result(const OpCall& call, const Term& term);

// slice() takes [start, end) along one dimension.
inline constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
inline Formula slice(const Formula& x, std::size_t dim, std::int64_t start, std::int64_t end = to_the_end) {
  return x.call("aten.slice.Tensor", {static_cast<std::int64_t>(dim), start, end});
}

// Returns log(exp(a) + exp(b)): the larger one plus the contribution of the smaller. Equal infinities are
// handled separately.
Term log_add(const Term& self, const Term& other, double log_of_base = 1);

// --- series and polynomials

// Returns c[0] + c[1] * T1(t) + c[2] * T2(t) + ... by Clenshaw's sum, with only the terms that matter in the
// element type.
Formula chebyshev(const Formula& t, std::span<const double> series);
// Returns c[0] + c[1] * x + c[2] * x^2 + ...
Formula polynomial(const Formula& x, std::span<const double> c);

// --- rules for classes of ops

// One operand; integers are promoted to floats.
constexpr OpRules float_formula(DecomposeFunction decompose, OpFlag flags = None) {
  return {.flags = Pointwise | PromotesToFloat | flags,
          .promotes = "self",
          .infer = infer_promoted,
          .decompose = decompose};
}
// Operands are broadcast and promoted to one type, which is the result's.
constexpr OpRules formula(DecomposeFunction decompose, OpFlag flags = None,
                          const char* promotes = "self other") {
  return {.flags = Pointwise | flags, .promotes = promotes, .infer = infer_promoted, .decompose = decompose};
}

}  // namespace depute::internal
