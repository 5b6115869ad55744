// The sizes that two tensors have when they are computed with element by element: of types, whose sizes may
// be symbolic, and of data.
//
//   [3, 1, 4] and [2, 1]  ->  [3, 2, 4]
#pragma once

#include <cstddef>

#include "depute/result.h"

namespace depute {

// `fault(size, other)` makes the Failure for the first two sizes that do not broadcast.
template <typename Sizes, typename Fault>
Result<Sizes> broadcast_sizes(const Sizes& a, const Sizes& b, Fault&& fault) {
  const Sizes& longer = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  Sizes sizes = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& size = sizes[lead + i];
    if (shorter[i] == size || shorter[i] == 1) continue;
    if (size != 1) return fault(size, shorter[i]);
    size = shorter[i];
  }
  return sizes;
}

}  // namespace depute
