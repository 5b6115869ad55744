// Rules for result types that several families share: broadcasting, type promotion, dimensions, reductions.
//
// A rule gets an OpCall and returns the types of all results; sizes may be symbolic. Every result is
// contiguous: normalised programs leave layout to the memory planner.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/op.h"

#pragma GCC visibility push(default)

namespace depute {

using Types = Result<std::vector<Type>>;

// What the op's rule gives for the call. Fails also when a size is negative or there are too many dimensions.
Types result_types(const OpCall& call);

// True if a value may have both types: sizes contradict each other only where both are numbers. Strides do
// not count.
bool may_agree(const Type& a, const Type& b);

// A failed rule; the message says why ("sizes 3 and 4 do not broadcast").
Failure type_error(std::string message);
// The same for a call that is wrong whatever the sizes of its operands are: a dimension that is not there,
// too few numbers. Nothing that is known of symbolic sizes excuses it.
inline constexpr std::string_view bad_argument = "bad-argument";
Failure argument_error(std::string message);

// One contiguous tensor.
Types tensor_result(ScalarType dtype, Dims sizes);

// --- sizes

Result<Dims> broadcast(const Dims& a, const Dims& b);
// A dimension counted from either end, as one counted from the front. Rank 0 has one dimension, 0.
Result<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank);
// The dimension that an argument of the call names; it must be there, which it is not for rank 0.
Result<std::size_t> dim_of(const OpCall& call, std::string_view name, const TensorType& type);
// The dimensions a list names; all when the list is empty or None. Ascending, each once.
Result<std::vector<std::size_t>> wrap_dims(const Argument& dims, std::size_t rank);
Dims reduced_sizes(const Dims& sizes, std::span<const std::size_t> dims, bool keepdim);
// A Scalar argument as a number; fails when only the program's run tells it.
Result<double> constant_number(const OpCall& call, std::string_view name);
// sizes[dim] of a tensor as a number.
Result<std::int64_t> static_size(const TensorType& type, std::size_t dim, std::string_view what);

// --- element types

// The type torch computes the call's promoted arguments in: tensors with dimensions win over 0-d tensors,
// those over numbers, inside a kind of numbers. With the op's flag promotes_to_float integers and bools give
// f32.
ScalarType promoted_type(const OpCall& call);
ScalarType scalar_type_of(const Argument& number);  // i64, f32, bool or c64

// The dtype argument of the call, or `otherwise` when it is None or not in the schema.
ScalarType dtype_or(const OpCall& call, ScalarType otherwise);

// --- rules

Types infer_like_first(const OpCall& call);     // dtype of the first tensor, sizes of all tensors broadcast
Types infer_same_type(const OpCall& call);      // exactly the first tensor's type, without strides
Types infer_promoted(const OpCall& call);       // promoted dtype, broadcast sizes
Types infer_bool(const OpCall& call);           // bools, broadcast sizes
Types infer_nothing(const OpCall& call);        // no results
Types infer_reduction(const OpCall& call);      // over `dim` with `keepdim`; dtype of self or the argument
Types infer_sum(const OpCall& call);            // the same; integers and bools are summed in i64
Types infer_any(const OpCall& call);            // the same, bools
Types infer_arg_reduction(const OpCall& call);  // the same, i64
Types infer_dim_reduction_pair(const OpCall& call);  // values and i64 indices

}  // namespace depute

#pragma GCC visibility pop
