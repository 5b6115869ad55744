// Shared rules for result types: broadcasting, type promotion, dimensions, reductions.
//
// A rule gets an OpCall and returns the types of all results. Sizes may be symbolic. Every result is
// contiguous, because memory layout is up to the memory planner.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/api.h"
#include "depute/program/op.h"

namespace depute {

using Types = Result<std::vector<Type>>;

// Returns the result types of the op's rule. Also fails if a size is negative or the rank exceeds max_rank.
DEPUTE_API Types result_types(const OpCall& call);

// True if a value may have both types. Only constant sizes can contradict each other. Strides are ignored.
DEPUTE_API bool may_agree(const Type& a, const Type& b);

// Failure of a rule; the message gives the reason ("sizes 3 and 4 do not broadcast").
DEPUTE_API Failure type_error(std::string message);
// Failure of a call that is wrong for all sizes of its operands: a dimension out of range, or too few
// numbers. Facts about symbolic sizes cannot make such a call valid.
inline constexpr std::string_view bad_argument = "bad-argument";
DEPUTE_API Failure argument_error(std::string message);

// Type of one contiguous tensor.
DEPUTE_API Types tensor_result(ScalarType dtype, Dims sizes);

// --- sizes

// Returns the sizes of two tensors broadcast together. Fails if they do not broadcast.
DEPUTE_API Result<Dims> broadcast(const Dims& a, const Dims& b);
// Converts a dimension that may be negative to [0, rank). For rank 0 the only dimension is 0. Fails if out of
// range.
DEPUTE_API Result<std::size_t> wrap_dim(std::int64_t dim, std::size_t rank);
// Returns the dimension in argument `name` of the call. Fails if out of range, which is always so for rank 0.
DEPUTE_API Result<std::size_t> dim_of(const OpCall& call, std::string_view name, const TensorType& type);
// Returns the dimensions in a list, ascending and unique; all dimensions if the list is empty or None.
DEPUTE_API Result<std::vector<std::size_t>> wrap_dims(const Argument& dims, std::size_t rank);
// Returns `sizes` without the dimensions `dims`; with `keepdim` these have size 1 instead.
DEPUTE_API Dims reduced_sizes(const Dims& sizes, std::span<const std::size_t> dims, bool keepdim);
// Returns a Scalar argument as a number. Fails if it is known only at run time.
DEPUTE_API Result<double> constant_number(const OpCall& call, std::string_view name);
// Returns sizes[dim] as a number. Fails if it is symbolic.
DEPUTE_API Result<std::int64_t> static_size(const TensorType& type, std::size_t dim, std::string_view what);

// --- element types

// Returns the type in which torch computes the promoted arguments. Tensors with dimensions win over 0-d
// tensors, and these over numbers, within a category (bool, integer, float, complex). With the flag
// promotes_to_float, integers and bools become f32.
DEPUTE_API ScalarType promoted_type(const OpCall& call);
DEPUTE_API ScalarType scalar_type_of(const Argument& number);  // i64, f32, bool or c64

// Returns the call's dtype argument, or `otherwise` if it is None or not in the schema.
DEPUTE_API ScalarType dtype_or(const OpCall& call, ScalarType otherwise);

// --- rules

DEPUTE_API Types infer_like_first(const OpCall& call);  // dtype of the first tensor, broadcast sizes of all
DEPUTE_API Types infer_same_type(const OpCall& call);   // exactly the first tensor's type, without strides
DEPUTE_API Types infer_promoted(const OpCall& call);    // promoted dtype, broadcast sizes
DEPUTE_API Types infer_bool(const OpCall& call);        // bools, broadcast sizes
DEPUTE_API Types infer_nothing(const OpCall& call);     // no results
// Reductions over `dim` with `keepdim`: dtype of self or the argument; integers and bools summed in i64; bools;
// i64 indices; values and i64 indices.
DEPUTE_API Types infer_reduction(const OpCall& call);
DEPUTE_API Types infer_sum(const OpCall& call);
DEPUTE_API Types infer_any(const OpCall& call);
DEPUTE_API Types infer_arg_reduction(const OpCall& call);
DEPUTE_API Types infer_dim_reduction_pair(const OpCall& call);

}  // namespace depute
