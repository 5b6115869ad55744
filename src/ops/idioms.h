// Helpers that the rules of several families share: conversions, ranges, reductions over all dimensions.
//
// Rules run inside Builder::run(), which a failed call leaves at once: rules need no checks.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/program/builder.h"

namespace depute::internal {

bool is_half_precision(ScalarType dtype);
// Returns the type that eager PyTorch computes in: f32 for half precision, otherwise the type itself.
ScalarType compute_type(ScalarType dtype);

Value* to_dtype(Builder& b, Value* x, ScalarType dtype);  // `x` itself if it has the type
Value* to_compute_type(Builder& b, Value* x);
Value* to_compute_type(Builder& b, const Value* x);

// Returns [0, 1, .., count - 1] as i64 or floats.
Value* range(Builder& b, const SymInt& count, ScalarType dtype = ScalarType::I64);
// Views a vector as dimension `dim` of `rank`: [n] becomes [1, .., n, .., 1].
Value* along(Builder& b, Value* vector, std::size_t dim, std::size_t rank);
// Returns a 0-d tensor with the size.
Value* size_tensor(Builder& b, const SymInt& size, ScalarType dtype);

Value* reshape(Builder& b, Value* x, const Dims& sizes);
// Prepends sizes of 1 up to a rank, like broadcasting.
Dims with_rank(const Dims& sizes, std::size_t rank);
Value* with_rank(Builder& b, Value* x, std::size_t rank);
// Appends a slice of `value` along a dimension, which is then never empty.
Value* one_longer(Builder& b, Value* x, std::size_t dim, double value);
// Returns the elements from `start` on, then those before; `x` itself if that changes nothing.
Value* rotated(Builder& b, Value* x, std::size_t dim, const SymInt& start);
// Returns max(x, 0) for any number type.
Value* positive_part(Builder& b, Value* x);
// Returns `x` where the condition holds, and 0 elsewhere.
Value* zero_unless(Builder& b, Value* condition, Value* x);

// Fails unless 'indices' can index 'self'. An integer tensor indexes one dimension; a mask indexes as many
// dimensions as it has.
Status check_indices(const OpCall& call);

}  // namespace depute::internal
