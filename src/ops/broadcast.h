// The sizes that two tensors have when they are computed with element by element: of types, whose sizes may
// be symbolic, and of data.
//
//   [3, 1, 4] and [2, 1]  ->  [3, 2, 4]
#pragma once

#include <cstddef>
#include <utility>

#include "depute/result.h"

namespace depute {

// `clash(size, other)` gives the Status for two sizes that do not broadcast; one that it lets pass stays
// `size`.
template <typename Sizes, typename Clash>
Result<Sizes> broadcast_sizes(const Sizes& a, const Sizes& b, Clash&& clash) {
  const Sizes& longer = a.size() >= b.size() ? a : b;
  const Sizes& shorter = a.size() >= b.size() ? b : a;
  Sizes sizes = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& size = sizes[lead + i];
    if (shorter[i] == size || shorter[i] == 1) continue;
    if (size == 1) {
      size = shorter[i];
      continue;
    }
    if (Status passed = clash(size, shorter[i]); !passed) return Failure(std::move(passed).error());
  }
  return sizes;
}

}  // namespace depute
