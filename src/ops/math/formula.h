// Formulas over tensors in mathematical notation:
//
//   Term x = float_operand(b, call, "self");
//   return result(call, where(x == 0, 1.0, sin(x) / x));
//
// Operands are converted to the type that eager PyTorch computes in, and the result to the type of the op:
// half precision is computed in f32 and rounded once. After a failure terms are null, and further operations
// have no effect.
#pragma once

#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

#include "depute/program/builder.h"
#include "ops/op_table.h"

namespace depute::internal {

class Term;

// A term or a number.
struct Operand {
  BuilderArgument argument;
  bool is_number = true;

  // Conversions are intended.
  Operand(const Term& term);                                                            // NOLINT
  Operand(int number) : argument(number) {}                                             // NOLINT
  Operand(std::int64_t number) : argument(number) {}                                    // NOLINT
  Operand(double number) : argument(number) {}                                          // NOLINT
  Operand(bool number) : argument(number) {}                                            // NOLINT
  Operand(const Argument& number) : argument(number), is_number(!number.is_value()) {}  // NOLINT
};

class Term {
 public:
  Term(Builder& b, Value* value) : builder_(&b), value_(value) {}

  Builder& builder() const { return *builder_; }
  Value* value() const { return value_; }
  ScalarType dtype() const { return value_ == nullptr ? ScalarType::F32 : value_->tensor().dtype; }
  const Dims& sizes() const;
  std::size_t rank() const { return sizes().size(); }
  Term to(ScalarType dtype) const;
  // Returns op(this, rest...).
  Term call(std::string_view op, std::initializer_list<BuilderArgument> rest = {}) const;

  // Returns op.Scalar(this, other) for a number, else op.Tensor(this, other).
  Term compare(std::string_view op, const Operand& other) const;

  friend Term operator+(const Term& a, const Operand& b) { return a.call("aten.add.Tensor", {b.argument}); }
  friend Term operator-(const Term& a, const Operand& b) { return a.call("aten.sub.Tensor", {b.argument}); }
  friend Term operator*(const Term& a, const Operand& b) { return a.call("aten.mul.Tensor", {b.argument}); }
  friend Term operator/(const Term& a, const Operand& b) { return a.call("aten.div.Tensor", {b.argument}); }
  friend Term operator==(const Term& a, const Operand& b) { return a.compare("eq", b); }
  friend Term operator!=(const Term& a, const Operand& b) { return a.compare("ne", b); }
  // Exact matches, so that C++20's candidates with reversed operands are not considered.
  friend Term operator==(const Term& a, const Term& b) { return a.compare("eq", b); }
  friend Term operator!=(const Term& a, const Term& b) { return a.compare("ne", b); }
  friend Term operator<(const Term& a, const Operand& b) { return a.compare("lt", b); }
  friend Term operator<=(const Term& a, const Operand& b) { return a.compare("le", b); }
  friend Term operator>(const Term& a, const Operand& b) { return a.compare("gt", b); }
  friend Term operator>=(const Term& a, const Operand& b) { return a.compare("ge", b); }
  friend Term operator+(double a, const Term& b) { return b + a; }
  friend Term operator*(double a, const Term& b) { return b * a; }
  friend Term operator-(const Term& x) { return x.call("aten.neg.default"); }
  friend Term operator!(const Term& x) { return x.call("aten.logical_not.default"); }
  friend Term operator&(const Term& a, const Term& b) {
    return a.call("aten.logical_and.default", {b.value()});
  }
  friend Term operator|(const Term& a, const Term& b) {
    return a.call("aten.logical_or.default", {b.value()});
  }
  friend Term max(const Term& a, const Term& b) { return a.call("aten.maximum.default", {b.value()}); }
  friend Term min(const Term& a, const Term& b) { return a.call("aten.minimum.default", {b.value()}); }
  friend Term abs(const Term& x) { return x.call("aten.abs.default"); }
  friend Term exp(const Term& x) { return x.call("aten.exp.default"); }
  friend Term log(const Term& x) { return x.call("aten.log.default"); }
  friend Term log1p(const Term& x) { return x.call("aten.log1p.default"); }
  friend Term sqrt(const Term& x) { return x.call("aten.sqrt.default"); }
  friend Term expm1(const Term& x) { return x.call("aten.expm1.default"); }
  friend Term sin(const Term& x) { return x.call("aten.sin.default"); }
  friend Term cos(const Term& x) { return x.call("aten.cos.default"); }
  friend Term sinh(const Term& x) { return x.call("aten.sinh.default"); }
  friend Term cosh(const Term& x) { return x.call("aten.cosh.default"); }
  friend Term floor(const Term& x) { return x.call("aten.floor.default"); }
  friend Term trunc(const Term& x) { return x.call("aten.trunc.default"); }
  friend Term is_nan(const Term& x) { return x.call("aten.isnan.default"); }

 private:
  Builder* builder_;
  Value* value_;
};
inline Operand::Operand(const Term& term) : argument(term.value()), is_number(false) {}

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

Term operator-(double a, const Term& b);
Term operator/(double a, const Term& b);
Term where(const Term& condition, const Operand& a, const Operand& b);

// slice() takes [start, end) along one dimension.
inline constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
inline Term slice(const Term& x, std::size_t dim, std::int64_t start, std::int64_t end = to_the_end) {
  return x.call("aten.slice.Tensor", {static_cast<std::int64_t>(dim), start, end});
}

// Returns log(exp(a) + exp(b)): the larger one plus the contribution of the smaller. Equal infinities are
// handled separately.
Term log_add(const Term& self, const Term& other, double log_of_base = 1);

// --- series and polynomials

// Returns c[0] + c[1] * T1(t) + c[2] * T2(t) + ... by Clenshaw's sum, with only the terms that matter in the
// element type.
Term chebyshev(const Term& t, std::span<const double> series);
// Returns c[0] + c[1] * x + c[2] * x^2 + ...
Term polynomial(const Term& x, std::span<const double> c);

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
