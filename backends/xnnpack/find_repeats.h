// Steps that a method repeats with the same weights: those of a recurrent cell, layers that share theirs,
// twins.
//
//   linear(h0, w), tanh -> h1; linear(h1, w), tanh -> h2; ...    ->    {linear tanh} {linear tanh} ...
//
// The runtime packs weights for each node that reads them: a delegate of twenty steps has twenty copies,
// which take memory, and which no cache keeps from one step to the next. As delegates of their own the steps
// are equal, so that one is loaded and executed for all (plan/equal_delegates.h).
#pragma once

#include <functional>
#include <vector>

#include "node_query.h"

namespace depute::xnnpack {

// Sets of nodes, one for each step, none of which depends on a later one. `is_taken` tells which nodes may be
// in one. Empty where copies are few or small.
std::vector<std::vector<const Node*>> find_repeats(const QueryContext& context,
                                                   const std::function<bool(const Node&)>& is_taken);

}  // namespace depute::xnnpack
