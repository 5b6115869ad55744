// Rewrites complex tensors as pairs of real ones, since the runtime has few kernels for complex numbers.
//
//   %z = aten.complex.default(%a, %b)                %z = aten.complex.default(%a, %b)
//   %y = aten.mul.Tensor(%z, %w)               ->    r = a * real(w) - b * imag(w)
//                                                    i = a * imag(w) + b * real(w)
//                                                    %y = aten.complex.default(%r, %i)
//
// A rule takes the parts of its operands (directly from aten.complex, if that produced them) and returns
// aten.complex of the results' parts. In the end the remaining aten.complex nodes are unused.
#pragma once

#include <optional>

#include "depute/program/builder.h"
#include "depute/program/infer.h"
#include "depute/program/op.h"

namespace depute {

// Returns the rule that replaces a call with complex operands or results, or null.
DecomposeFunction complex_form(const OpDef& def);
// Builds a complex tensor from its parts, from which rules take them.
Value* complex_value_of(Builder& b, const Value* real, const Value* imaginary);

namespace internal {

// Parts of a complex value, a real value or a number; a real one has no imaginary part.
struct ComplexParts {
  BuilderArgument real;
  std::optional<BuilderArgument> imaginary;
};
ComplexParts parts_of(Builder& b, const Argument& operand);
// Returns a part of a value that aten.complex produced; null for other values.
Value* known_part(Builder& b, const Value* x, std::size_t which);
Value* real_part(Builder& b, Value* x);
Value* imaginary_part(Builder& b, Value* x);  // zeros for a real value

// Infers the first argument's sizes, and the type of its parts.
Types infer_part(const OpCall& call);

// Applies the op to the real and to the imaginary parts; for ops that move, add or scale elements.
Replacement each_part(Builder& b, const OpCall& call);
// Like each_part(), for add and sub, whose alpha may be complex.
Replacement complex_sum(Builder& b, const OpCall& call);
// Applies the op to whether elements are nonzero.
Replacement of_truth(Builder& b, const OpCall& call);

Replacement complex_product(Builder& b, const OpCall& call);         // mul
Replacement complex_matrix_product(Builder& b, const OpCall& call);  // mm, bmm
Replacement complex_addmm(Builder& b, const OpCall& call);
Replacement complex_linear(Builder& b, const OpCall& call);
Replacement complex_convolution(Builder& b, const OpCall& call);
Replacement complex_variance(Builder& b, const OpCall& call);
Replacement complex_equal(Builder& b, const OpCall& call);
Replacement complex_unequal(Builder& b, const OpCall& call);
Replacement complex_conversion(Builder& b, const OpCall& call);  // _to_copy
// Builds a complex tensor that the method returns, by the only kernel of the runtime that creates one.
Replacement complex_by_transform(Builder& b, const OpCall& call);

}  // namespace internal
}  // namespace depute
