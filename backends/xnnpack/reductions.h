// Means, sums and maxima over dimensions, made of XNNPACK's nodes; several rules use them. Reduced dimensions
// stay, with size 1.
#pragma once

#include <cstdint>
#include <vector>

#include "emitter.h"

namespace depute::xnnpack {

// True if `dims` is only the last dimension and its size is constant: reducing it needs no reshape.
bool is_last_alone(const std::vector<std::uint32_t>& dims, const Dims& sizes);

// Reduces any dimensions, in ascending order. With more than one dynamic size, `dims` must be two dimensions
// of a tensor of rank 3 or more, or only the last one.
ValueId reduce_mean(Emitter& emit, ValueId x, std::vector<std::uint32_t> dims);
// Like reduce_mean(), for dimensions of constant size.
ValueId reduce_sum(Emitter& emit, ValueId x, const std::vector<std::uint32_t>& dims);
// Reduces one dimension or two adjacent ones of constant size; at most one other size may be dynamic.
ValueId reduce_max(Emitter& emit, ValueId x, std::uint32_t first, std::uint32_t last);

}  // namespace depute::xnnpack
