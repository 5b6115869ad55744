// Finds steps that a method repeats with the same weights, such as a recurrent cell, layers with shared
// weights, or siamese branches.
//
//   linear(h0, w), tanh -> h1; linear(h1, w), tanh -> h2; ...    ->    {linear tanh} {linear tanh} ...
//
// The runtime packs weights for each node that reads them: a delegate with twenty steps has twenty copies,
// which use memory and do not stay in the cache. As separate delegates the steps are equal, so that one is
// loaded and executed for all (plan/equal_delegates.h).
#pragma once

#include <functional>
#include <vector>

#include "node_query.h"

namespace depute::xnnpack {

// Returns one set of nodes per step; no step depends on a later one. Steps contain only nodes for which
// `is_taken` is true. Empty if the copies are few or small.
std::vector<std::vector<const Node*>> find_repeats(const QueryContext& context,
                                                   const std::function<bool(const Node&)>& is_taken);

}  // namespace depute::xnnpack
