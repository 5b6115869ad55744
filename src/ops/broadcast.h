// Computes the broadcast sizes of two tensors, for types (whose sizes may be symbolic) and for data.
//
//   [3, 1, 4] and [2, 1]  ->  [3, 2, 4]
#pragma once

#include <cstddef>
#include <utility>

#include "depute/program/result.h"

namespace depute {

// `clash(size, other)` decides about two sizes that do not broadcast: it fails, or accepts them and `size` is
// kept.
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
