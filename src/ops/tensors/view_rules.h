// Shared by ops on views: their result sizes, and how a write through a view updates its base.
#pragma once

#include <cstddef>
#include <vector>

#include "depute/program/infer.h"

namespace depute::internal {

// Returns the sizes of a view: `wanted`, with a -1 resolved.
Result<Dims> view_sizes(const Dims& own, const Dims& wanted);
// Returns the order of dimensions for permute, transpose, t, movedim, ...
Result<std::vector<std::size_t>> permutation(const OpCall& call);
// Returns the number of elements that a slice with the call's start, end and step takes from a dimension of
// `size`.
Result<SymInt> slice_size(const SymInt& size, const OpCall& call);
// True if the slice starts or ends at a number that the run computes; slice_size() is right where that is in range.
bool has_open_bounds(const OpCall& slice);

// Returns the first argument itself, as a view.
Replacement to_alias(Builder& b, const OpCall& call);

// WriteBackFunctions (op_def.h) for each class of views.
Result<Value*> write_whole(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result);
Result<Value*> write_reshaped(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);
Result<Value*> write_permuted(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);
// For an expand that repeats no elements: torch rejects writes through other expands.
Result<Value*> write_expanded(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);
Result<Value*> write_strided(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result);
Result<Value*> write_slice(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result);
Result<Value*> write_selected(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);

}  // namespace depute::internal
