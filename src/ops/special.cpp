// Special functions, by formulas that are as exact as the element type: products with logarithms, the normal
// distribution, Bessel and gamma functions.
//
//   aten.special_entr.default(%x)       ->       where(x == 0, 0, -x * log(x))
#include <limits>
#include <numbers>

#include "ops/formula.h"
#include "ops/rename.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// --- products with logarithms: 0 where the factor is 0, unless the logarithm is of not a number

Replacement xlogy(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self"), y = float_operand(b, call, "other");
  return result(call, where((x == 0) & !is_nan(y), 0.0, x * log(y)));
}
Replacement xlog1py(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self"), y = float_operand(b, call, "other");
  return result(call, where((x == 0) & !is_nan(y), 0.0, x * log1p(y)));
}
Replacement entr(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  return result(call, where(x == 0, 0.0, where(x < 0, -infinity, -x * log(x))));
}

Replacement sinc(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  Term angle = x * std::numbers::pi;
  return result(call, where(x == 0, 1.0, sin(angle) / angle));
}
Replacement exp2(Builder& b, const OpCall& call) {
  Term x = float_operand(b, call, "self");
  return result(call, Term(b, b.call("aten.pow.Scalar", {2.0, x.value()})));
}

constexpr OpRules product_rules(OpFlag flags = no_flags) {
  return formula(xlogy, promotes_to_float | flags);
}
constexpr OpRules product1p_rules() {
  return formula(xlog1py, promotes_to_float);
}

}  // namespace

std::span<const OpLine> special_ops() {
  static constexpr OpLine lines[] = {
      {"aten.xlogy.Tensor(Tensor self, Tensor other) -> Tensor", product_rules(inplace_twin)},
      {"aten.xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", product_rules(inplace_twin)},
      {"aten.xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", product_rules()},
      {"aten.special_xlogy.default(Tensor self, Tensor other) -> Tensor", product_rules()},
      {"aten.special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", product_rules()},
      {"aten.special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", product_rules()},
      {"aten.special_xlog1py.default(Tensor self, Tensor other) -> Tensor", product1p_rules()},
      {"aten.special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", product1p_rules()},
      {"aten.special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", product1p_rules()},
      {"aten.special_entr.default(Tensor self) -> Tensor", float_formula(entr)},
      {"aten.sinc.default(Tensor self) -> Tensor", float_formula(sinc, inplace_twin)},
      {"aten.exp2.default(Tensor self) -> Tensor", float_formula(exp2, inplace_twin)},
      // other names
      {"aten.special_sinc.default(Tensor self) -> Tensor", renamed<"aten.sinc.default">(pointwise)},
      {"aten.special_exp2.default(Tensor self) -> Tensor", renamed<"aten.exp2.default">(pointwise)},
      {"aten.special_expm1.default(Tensor self) -> Tensor", renamed<"aten.expm1.default">(pointwise)},
      {"aten.special_log1p.default(Tensor self) -> Tensor", renamed<"aten.log1p.default">(pointwise)},
      {"aten.special_expit.default(Tensor self) -> Tensor", renamed<"aten.sigmoid.default">(pointwise)},
      {"aten.special_logit.default(Tensor self, float? eps=None) -> Tensor",
       renamed<"aten.logit.default">(pointwise)},
      {"aten.special_erf.default(Tensor self) -> Tensor", renamed<"aten.erf.default">(pointwise)},
      {"aten.special_softmax.default(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
       renamed<"aten.softmax.int">()},
      {"aten.special_log_softmax.default(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
       renamed<"aten.log_softmax.int">()},
  };
  return lines;
}

}  // namespace depute::internal
