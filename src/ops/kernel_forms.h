// Forms of calls that the runtime's kernels compute correctly, where they would fail on the original call or
// differ from PyTorch. Rows name them in `.fit` (ops/kernel_rules.h). Each returns nothing for a call that
// needs no change. Forms are not applied again to the ops that they build, so they may use their own op.
#pragma once

#include "depute/program/builder.h"

namespace depute::internal {

// For kernels that need a dimension: 0-d tensors get one, which is removed from the results.
Replacement with_dimension(Builder& b, const OpCall& call);
// For kernels that take no negative dimensions in `dim`.
Replacement with_wrapped_dims(Builder& b, const OpCall& call);
// For kernels that take no bounds beyond the result's type: in floating-point types those are infinite.
Replacement with_bounds_of_type(Builder& b, const OpCall& call);
// Remainders of integers with the divisor's sign: a - floor(a / b) * b.
Replacement remainder_by_floor(Builder& b, const OpCall& call);
// Powers of integers by squaring, since the kernel computes in f64.
Replacement power_by_squaring(Builder& b, const OpCall& call);
// add, sub, mul, div: expands operands to equal ranks. The kernel may give the result the wrong rank, that of
// the operand with more elements. For add also multiplies `other` by alpha beforehand if `self` may have one
// element: the kernel then applies alpha to the wrong operand.
Replacement of_equal_ranks(Builder& b, const OpCall& call);
// le of bools that are broadcast: the kernel may compare the operands in the other order.
Replacement le_by_ge(Builder& b, const OpCall& call);
// Left shifts by a negative number, or by at least the width of the type, return 0.
Replacement left_shift_within_width(Builder& b, const OpCall& call);
// Right shifts by such numbers return only the sign.
Replacement right_shift_within_width(Builder& b, const OpCall& call);
// mm and bmm with an empty inner dimension return zeros, which the kernel does not write; also if it turns out to
// be empty at run time. For bools, multiplies numbers and compares the product with 0.
Replacement product_of_numbers(Builder& b, const OpCall& call);
// linear over no columns is the bias.
Replacement linear_of_nothing(Builder& b, const OpCall& call);
// addmm of such matrices is beta * self.
Replacement sum_of_product(Builder& b, const OpCall& call);
// amax and amin over some of a tensor's dimensions, where another one may be empty: by max.dim and min.dim. The kernel
// ends the process for empty tensors.
Replacement extreme_beside_empty(Builder& b, const OpCall& call);
// Sums, means and products in half precision are computed in f32 and rounded once.
Replacement sum_in_f32(Builder& b, const OpCall& call);
// The sign of NaN is 0.
Replacement sign_without_nan(Builder& b, const OpCall& call);
// floor(a / 0) is a / 0, with its sign and NaNs.
Replacement floor_by_division_of_zero(Builder& b, const OpCall& call);
// log_softmax of f64: x - max(x) - log(sum(exp(x - max(x)))). The kernel divides by the size of the dimension, which
// must not turn out to be 0.
Replacement log_softmax_for_kernel(Builder& b, const OpCall& call);
// masked_select with the tensor and the mask expanded to equal sizes.
Replacement select_broadcast(Builder& b, const OpCall& call);

}  // namespace depute::internal
