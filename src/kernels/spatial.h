// Windows that move over the spatial dimensions of images, for convolutions and pools.
//
// One and two spatial dimensions are padded to three with leading sizes of 1, so that one loop serves all.
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

// Returns the last `rank` sizes of a shape, with leading ones.
Triple last_dims(const Shape& sizes, std::size_t rank);
// Returns `lead` followed by one number per dimension from a list of `rank` numbers or one; `otherwise` for
// an empty list. Fails for numbers below `least`, and for numbers whose product could overflow.
Result<Triple> window_numbers(const Shape& list, std::size_t rank, std::int64_t lead, std::int64_t least,
                              const Triple& otherwise);

// Returns the number of window positions per dimension in an image of `sizes`; fails if there is none.
enum class Rounding : std::uint8_t { Down, Up };
Result<Triple> window_moves(const Triple& sizes, const Window& window, Rounding rounding);

}  // namespace depute::internal
