// What the ops on views have in common: the sizes they lead to, and how a write through a view reaches the
// tensor it is a view of.
#pragma once

#include <cstddef>
#include <vector>

#include "depute/infer.h"

namespace depute::internal {

// The sizes of a view: `wanted` with its -1, if there is one, replaced.
Result<Dims> view_sizes(const Dims& own, const Dims& wanted);
// The order of dimensions that permute, transpose, t, movedim, ... stand for.
Result<std::vector<std::size_t>> permutation(const OpCall& call);
// Elements that a slice with the call's start, end and step takes from a dimension of `size`.
Result<SymInt> slice_size(const SymInt& size, const OpCall& call);
// True if the slice starts or ends at a number that the run computes; slice_size() is right where that is in range.
bool has_open_bounds(const OpCall& slice);

// The first argument itself, as a view.
Replacement to_alias(Builder& b, const OpCall& call);

// WriteBackFunctions (op_def.h), by class of view.
Result<Value*> write_whole(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result);
Result<Value*> write_reshaped(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);
Result<Value*> write_permuted(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);
// Of an expand that repeats nothing: torch refuses to write through others.
Result<Value*> write_expanded(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);
Result<Value*> write_strided(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result);
Result<Value*> write_slice(Builder& b, const OpCall& call, Value* base, Value* updated, std::size_t result);
Result<Value*> write_selected(Builder& b, const OpCall& call, Value* base, Value* updated,
                              std::size_t result);

}  // namespace depute::internal
