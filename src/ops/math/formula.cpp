#include "ops/math/formula.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "ops/idioms.h"
#include "support/try.h"

namespace depute::internal {

struct Formula::Pending {
  std::function<Term()> build;
  std::optional<Term> built;
};

Formula Formula::later(std::function<Term()> build) {
  Formula formula(Argument::none());
  formula.pending_ = std::make_shared<Pending>(std::move(build));
  return formula;
}

Formula Formula::built() const {
  if (pending_ == nullptr) return *this;
  if (!pending_->built) pending_->built = pending_->build();
  return *pending_->built;
}

Value* Formula::value() const {
  return built().value_;
}

Formula Formula::to(ScalarType type) const {
  return later([x = *this, type] {
    const Term term = x;
    if (term.value() == nullptr || term.dtype() == type) return term;
    return Term(term.call("aten._to_copy.default", {type}));
  });
}

Formula Formula::call(std::string_view op, std::initializer_list<BuilderArgument> rest) const {
  return later([x = *this, name = std::string(op), args = std::vector(rest)]() mutable {
    const Term term = x;
    args.insert(args.begin(), term.value());
    return Term(term.builder(), term.builder().call(name, args));
  });
}

Formula Formula::of(std::string_view op, std::initializer_list<Formula> operands) {
  return later([name = std::string(op), given = std::vector(operands)] {
    std::vector<BuilderArgument> args;
    Builder* b = nullptr;
    for (const Formula& operand : given | std::views::reverse) {
      const Formula built = operand.built();
      args.insert(args.begin(), built.argument());
      if (built.builder_ != nullptr) b = built.builder_;
    }
    return Term(*b, b->call(name, args));
  });
}

Formula Formula::sum_or_product(std::string_view op, const Formula& a, const Formula& b) {
  const std::string name = fmt::format("aten.{}.Tensor", op);
  return a.is_number() ? of(name, {b, a}) : of(name, {a, b});
}

Formula Formula::compare(std::string_view op, const Formula& a, const Formula& b) {
  return of(fmt::format("aten.{}.{}", op, b.is_number() ? "Scalar" : "Tensor"), {a, b});
}

const Dims& Term::sizes() const {
  static const Dims none{};
  return value_ == nullptr ? none : value_->tensor().sizes;
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

Term log_add(const Term& self, const Term& other, double log_of_base) {
  Term larger = max(self, other);
  Term distance = -abs(self - other);
  if (log_of_base != 1) distance = distance * log_of_base;
  Term added = log1p(exp(distance));
  if (log_of_base != 1) added = added / log_of_base;
  return where(abs(larger) == infinity, larger, larger + added);
}

namespace {

Term clenshaw_sum(const Term& t, std::span<const double> series) {
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

Term horner_sum(const Term& x, std::span<const double> c) {
  Term sum = x * c.back();
  for (std::size_t i = c.size() - 1; i-- > 1;) sum = (sum + c[i]) * x;
  return sum + c[0];
}

}  // namespace

Formula chebyshev(const Formula& t, std::span<const double> series) {
  return Formula::later([=] { return clenshaw_sum(t, series); });
}

Formula polynomial(const Formula& x, std::span<const double> c) {
  return Formula::later([=] { return horner_sum(x, c); });
}

}  // namespace depute::internal
