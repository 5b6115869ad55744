// The elements of a tensor in order along a dimension, by the runtime's topk over the whole length.
#pragma once

#include "ops/formula.h"

namespace depute::internal {

struct Sorted {
  Term values, indices;
};

// Equal elements in any order, what is not a number as the largest. The tensor has dimensions.
Sorted order_of(const Term& x, std::size_t dim, bool descending);

}  // namespace depute::internal
