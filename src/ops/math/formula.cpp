#include "ops/math/formula.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/idioms.h"
#include "support/try.h"

namespace depute::internal {

const Dims& Term::sizes() const {
  static const Dims none{};
  return value_ == nullptr ? none : value_->tensor().sizes;
}

Term Term::to(ScalarType type) const {
  return value_ == nullptr || dtype() == type ? *this : call("aten._to_copy.default", {type});
}

Term Term::call(std::string_view op, std::initializer_list<BuilderArgument> rest) const {
  std::vector<BuilderArgument> args{value_};
  args.insert(args.end(), rest.begin(), rest.end());
  return {*builder_, builder_->call(op, args)};
}

Term Term::compare(std::string_view op, const Operand& other) const {
  return call(fmt::format("aten.{}.{}", op, other.is_number ? "Scalar" : "Tensor"), {other.argument});
}

ScalarType computing_type(ScalarType dtype) {
  if (is_complex(dtype)) return dtype;
  return is_floating(dtype) ? compute_type(dtype) : ScalarType::F32;
}

Term tensor_operand(Builder& b, const OpCall& call, std::string_view name) {
  return {b, b.own(call.value(name))};
}

Term operand(ScalarType dtype, Builder& b, const OpCall& call, std::string_view name) {
  const Argument& argument = call[name];
  bool is_tensor = argument.is_value() && argument.as_value()->type().is_tensor();
  if (is_tensor) return tensor_operand(b, call, name).to(dtype);
  return {b, b.call("aten.scalar_tensor.default", {argument, dtype})};
}

Term operand(Builder& b, const OpCall& call, std::string_view name) {
  return operand(promoted_type(call), b, call, name);
}

Term float_operand(Builder& b, const OpCall& call, std::string_view name) {
  return operand(computing_type(promoted_type(call)), b, call, name);
}

Replacement result(const OpCall& call, const Term& term) {
  TRY(std::vector<Type> types, call.def().infer(call));
  return one(term.to(types[0].tensor.dtype).value());
}

Term operator-(double a, const Term& b) {
  return {b.builder(), b.builder().call("aten.sub.Tensor", {a, b.value()})};
}
Term operator/(double a, const Term& b) {
  if (a == 1) return b.call("aten.reciprocal.default");
  return {b.builder(), b.builder().call("aten.div.Tensor", {a, b.value()})};
}
Term where(const Term& condition, const Operand& a, const Operand& b) {
  return condition.call("aten.where.self", {a.argument, b.argument});
}

Term log_add(const Term& self, const Term& other, double log_of_base) {
  Term larger = max(self, other);
  Term distance = -abs(self - other);
  if (log_of_base != 1) distance = distance * log_of_base;
  Term added = log1p(exp(distance));
  if (log_of_base != 1) added = added / log_of_base;
  return where(abs(larger) == infinity, larger, larger + added);
}

Term chebyshev(const Term& t, std::span<const double> series) {
  double negligible = t.dtype() == ScalarType::F64 ? 0 : 1e-9;
  while (series.size() > 2 && std::fabs(series.back()) < negligible) series = series.first(series.size() - 1);
  Term twice = t * 2.0;
  std::size_t i = series.size() - 1;
  Term later = twice * series[i] + series[i - 1];
  if (i == 1) return t * series[1] + series[0];
  Term latest = later;                                  // b[i - 1]
  later = later * twice + (series[i - 2] - series[i]);  // b[i - 2]
  for (i -= 2; i > 1; --i) {
    Term next = later * twice - latest + series[i - 1];
    latest = later;
    later = next;
  }
  return i == 1 ? later * t - latest + series[0] : later;
}

Term polynomial(const Term& x, std::span<const double> c) {
  Term sum = x * c.back();
  for (std::size_t i = c.size() - 1; i-- > 1;) sum = (sum + c[i]) * x;
  return sum + c[0];
}

}  // namespace depute::internal
