// Windows that move over the spatial dimensions of images: what convolutions and pools have in common.
//
// One and two spatial dimensions are three, the first ones of size 1, so that one loop serves all.
#pragma once

#include <array>

#include "kernels/kernel_call.h"

namespace depute::internal {

inline constexpr std::size_t spatial_rank = 3;
using Triple = std::array<std::int64_t, spatial_rank>;

struct Window {
  Triple kernel = {1, 1, 1};
  Triple stride = {1, 1, 1};
  Triple padding = {0, 0, 0};
  Triple dilation = {1, 1, 1};
};

inline std::int64_t volume(const Triple& sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

// The last `rank` numbers of a shape behind ones.
Triple last_dims(const Shape& sizes, std::size_t rank);
// A list of one number a dimension, or of one for all, behind `lead`; `otherwise` when it is empty. Numbers
// are from `least` on, and small enough to be multiplied.
Result<Triple> window_numbers(const Shape& list, std::size_t rank, std::int64_t lead, std::int64_t least,
                              const Triple& otherwise);

// Moves of the window over an image of `sizes`, for each dimension; fails when there is none.
enum class Rounding : std::uint8_t { Down, Up };
Result<Triple> window_moves(const Triple& sizes, const Window& window, Rounding rounding);

}  // namespace depute::internal
