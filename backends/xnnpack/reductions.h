// Means, sums and maxima over dimensions, as nodes XNNPACK has; the rules of several ops are made of them.
// The dimensions that are reduced stay, with size 1.
#pragma once

#include <cstdint>
#include <vector>

#include "emitter.h"

namespace depute::xnnpack {

// True for the last dimension alone, of constant size: reducing it needs no reshape.
bool is_last_alone(const std::vector<std::uint32_t>& dims, const Dims& sizes);

// Any dimensions, ascending. With more than one size that is known only at run time, `dims` must be two
// dimensions of a tensor of three or more, or the last one alone.
ValueId reduce_mean(Emitter& emit, ValueId x, std::vector<std::uint32_t> dims);
// The same, of constant size.
ValueId reduce_sum(Emitter& emit, ValueId x, const std::vector<std::uint32_t>& dims);
// One dimension or two neighbours of constant size; at most one other size is known only at run time.
ValueId reduce_max(Emitter& emit, ValueId x, std::uint32_t first, std::uint32_t last);

}  // namespace depute::xnnpack
