// Sorts the elements of a tensor along a dimension, by the runtime's topk over the whole length.
#pragma once

#include "ops/math/formula.h"

namespace depute::internal {

struct Sorted {
  Term values, indices;
};

// Equal elements are in any order, and NaN is the largest. `x` must have at least one dimension.
Sorted order_of(const Term& x, std::size_t dim, bool descending);

}  // namespace depute::internal
