// Functions of complex numbers in terms of real and imaginary parts, as formulas (formula.h):
//
//   tan(z) = -i tanh(iz)
//
//   on_complex(complex_function<tan>, ...)    in an op's line: aten.tan of a complex tensor
#pragma once

#include "ops/math/complex_forms.h"
#include "ops/math/formula.h"

namespace depute::internal {

struct ComplexTerm {
  Term real, imaginary;
};

// Returns the call's argument (complex, real or a number) in the part type of the call's computation.
ComplexTerm complex_operand(Builder& b, const OpCall& call, std::string_view name);
// Returns aten.complex of the parts.
Replacement result(const ComplexTerm& z);

ComplexTerm exp(const ComplexTerm& z);
ComplexTerm expm1(const ComplexTerm& z);
ComplexTerm log(const ComplexTerm& z);
ComplexTerm log2(const ComplexTerm& z);
ComplexTerm log10(const ComplexTerm& z);
ComplexTerm log1p(const ComplexTerm& z);
ComplexTerm sqrt(const ComplexTerm& z);
ComplexTerm rsqrt(const ComplexTerm& z);
ComplexTerm reciprocal(const ComplexTerm& z);
ComplexTerm sigmoid(const ComplexTerm& z);
ComplexTerm sgn(const ComplexTerm& z);
ComplexTerm sin(const ComplexTerm& z);
ComplexTerm cos(const ComplexTerm& z);
ComplexTerm tan(const ComplexTerm& z);
ComplexTerm sinh(const ComplexTerm& z);
ComplexTerm cosh(const ComplexTerm& z);
ComplexTerm tanh(const ComplexTerm& z);
ComplexTerm asin(const ComplexTerm& z);
ComplexTerm acos(const ComplexTerm& z);
ComplexTerm atan(const ComplexTerm& z);
ComplexTerm asinh(const ComplexTerm& z);
ComplexTerm acosh(const ComplexTerm& z);
ComplexTerm atanh(const ComplexTerm& z);

template <ComplexTerm function(const ComplexTerm&)>
Replacement complex_function(Builder& b, const OpCall& call) {
  return result(function(complex_operand(b, call, "self")));
}

Replacement complex_quotient(Builder& b, const OpCall& call);  // div
Replacement complex_power(Builder& b, const OpCall& call);     // pow
Replacement complex_abs(Builder& b, const OpCall& call);
Replacement complex_angle(Builder& b, const OpCall& call);
Replacement complex_is_nan(Builder& b, const OpCall& call);
Replacement complex_is_inf(Builder& b, const OpCall& call);

}  // namespace depute::internal
