// Forms of calls that the runtime's kernels compute right, where they would fail on the call itself or differ
// from PyTorch. Rows name them in `.fit` (ops/kernel_rules.h). Each gives nothing for a call that is fine as
// it is. What a form is made of is not brought to another form, so it may use its own op.
#pragma once

#include "depute/builder.h"

namespace depute::internal {

// Kernels over a dimension that want one: tensors without dimensions get one, and the results lose it again.
Replacement with_dimension(Builder& b, const OpCall& call);
// Integers whose remainder has the divisor's sign: a - floor(a / b) * b.
Replacement remainder_by_floor(Builder& b, const OpCall& call);
// Powers of integers by squaring, since the kernel computes in floats of 64 bits.
Replacement power_by_squaring(Builder& b, const OpCall& call);
// add, sub, mul, div: operands of one rank, where the kernel would give the result the rank of the larger one
// though the other has more dimensions. Of add also alpha as a product of its own, where the kernel
// multiplies the wrong operand by it: of one element and several.
Replacement of_equal_ranks(Builder& b, const OpCall& call);
// Left shifts by a negative number, or by as many places as the type has or more, give 0.
Replacement left_shift_within_width(Builder& b, const OpCall& call);
// Right shifts by such numbers leave the sign alone.
Replacement right_shift_within_width(Builder& b, const OpCall& call);
// mm and bmm of matrices without rows in common are zeros, which the kernel does not write; of bools they are
// products of numbers, compared with 0.
Replacement product_of_numbers(Builder& b, const OpCall& call);
// linear over no columns is the bias.
Replacement linear_of_nothing(Builder& b, const OpCall& call);
// addmm of such matrices is beta * self.
Replacement sum_of_product(Builder& b, const OpCall& call);
// Sums, means and products of half precision are computed in f32 and rounded once.
Replacement sum_in_f32(Builder& b, const OpCall& call);
// The sign of NaN is 0.
Replacement sign_without_nan(Builder& b, const OpCall& call);
// floor(a / 0) is a / 0, with its sign and NaNs.
Replacement floor_by_division_of_zero(Builder& b, const OpCall& call);
// log_softmax of f64: x - max(x) - log(sum(exp(x - max(x)))).
Replacement log_softmax_by_parts(Builder& b, const OpCall& call);
// masked_select of a tensor and a mask of the same sizes.
Replacement select_broadcast(Builder& b, const OpCall& call);

}  // namespace depute::internal
