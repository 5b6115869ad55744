// Phrases that the rules of several families say: conversions, ranges, reductions over all dimensions.
//
// Each takes and gives null after a builder's failure, so that a rule can be written without checks.
#pragma once

#include <cstdint>
#include <vector>

#include "depute/builder.h"

namespace depute::internal {

// What made the builder fail.
inline Failure failure_of(const Builder& b) {
  return Failure(b.status().error());
}

bool is_half_precision(ScalarType dtype);
// The type eager computes in: f32 for half precision, else the type itself.
ScalarType compute_type(ScalarType dtype);

Value* to_dtype(Builder& b, Value* x, ScalarType dtype);  // `x` itself when it has the type
Value* to_compute_type(Builder& b, Value* x);
Value* to_compute_type(Builder& b, const Value* x);

// [0, 1, .., count - 1], as i64 or as floats.
Value* range(Builder& b, const SymInt& count, ScalarType dtype = ScalarType::I64);
// A vector as one dimension among `rank`: [n] to [1, .., n, .., 1].
Value* along(Builder& b, Value* vector, std::size_t dim, std::size_t rank);
// A 0-d tensor that holds a size.
Value* size_tensor(Builder& b, const SymInt& size, ScalarType dtype);

Value* reshape(Builder& b, Value* x, const Dims& sizes);
// Ones in front up to a rank, as broadcasting sees sizes.
Dims with_rank(const Dims& sizes, std::size_t rank);
Value* with_rank(Builder& b, Value* x, std::size_t rank);
// The elements from `start` on, then those before: `x` itself where that changes nothing.
Value* rotated(Builder& b, Value* x, std::size_t dim, const SymInt& start);
// max(x, 0) of any number type
Value* positive_part(Builder& b, Value* x);
// `x` where the condition holds, else 0
Value* zero_unless(Builder& b, Value* condition, Value* x);

// Fails unless the tensors of 'indices' index 'self': integers one dimension each, masks one for each of
// theirs.
Status check_indices(const OpCall& call);

}  // namespace depute::internal
