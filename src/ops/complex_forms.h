// Complex tensors as pairs of real ones: the runtime has hardly a kernel for complex numbers.
//
//   %z = aten.complex.default(%a, %b)                %z = aten.complex.default(%a, %b)
//   %y = aten.mul.Tensor(%z, %w)               ->    %r = sub(mul(%a, real(%w)), mul(%b, imag(%w)))
//                                                    %i = add(mul(%a, imag(%w)), mul(%b, real(%w)))
//                                                    %y = aten.complex.default(%r, %i)
//
// A rule takes the parts of its operands, which aten.complex holds when it is their producer, and gives
// aten.complex of the results' parts. What is left of aten.complex in the end has no users.
#pragma once

#include <optional>

#include "depute/builder.h"
#include "depute/infer.h"
#include "depute/op.h"

namespace depute {

// How a call with complex operands or results is replaced; null when no rule is known.
DecomposeFunction complex_form(const OpDef& def);
// A complex tensor of its parts, from which rules take them.
Value* complex_value_of(Builder& b, const Value* real, const Value* imaginary);

namespace internal {

// Of a complex value, a real one or a number. A real one has no imaginary part.
struct ComplexParts {
  BuilderArgument real;
  std::optional<BuilderArgument> imaginary;
};
ComplexParts parts_of(Builder& b, const Argument& operand);
// Of what aten.complex made: its argument; else null.
Value* known_part(Builder& b, const Value* x, std::size_t which);
Value* real_part(Builder& b, Value* x);
Value* imaginary_part(Builder& b, Value* x);  // of a real value: zeros

// Result types: the first argument's sizes, and the type of its parts.
Types infer_part(const OpCall& call);

// The op on the real and on the imaginary parts: what moves, adds or scales elements.
Replacement each_part(Builder& b, const OpCall& call);
// The same of add and sub, whose alpha may be complex.
Replacement complex_sum(Builder& b, const OpCall& call);
// The op on what is not zero.
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
// What a method gives back: the runtime has one kernel that makes complex tensors of real ones.
Replacement complex_by_transform(Builder& b, const OpCall& call);

}  // namespace internal
}  // namespace depute
