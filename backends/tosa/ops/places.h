// Elements of a tensor at fixed places along a dimension, by GATHER.
//
//   at_places(emit, x, 1, {0, 2, 2})   ->   x[:, [0, 2, 2]]
#pragma once

#include <cstdint>
#include <vector>

#include "emitter.h"

namespace depute::tosa::ops {

using Places = std::vector<std::int32_t>;

Tensor at_places(Emitter& emit, const Tensor& x, std::size_t dim, const Places& places);

}  // namespace depute::tosa::ops
