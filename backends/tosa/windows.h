// Windows that slide over the dimensions of an image. TOSA demands that they end where the padded input ends.
//
//   input 8, kernel 3, stride 2, padding 1, 1: it ends 1 early   ->   padding 1, 0
#pragma once

#include <cstdint>
#include <vector>

#include "emitter.h"

namespace depute::tosa {

// One dimension of a window, in elements of the input.
struct Slide {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  // padding
  std::int64_t after = 0;
};

// Makes the windows of dimension `dim` end with the input: widens or narrows the padding after it, or cuts the input
// off. `count` is the number of windows.
Tensor fit_window(Emitter& emit, const Tensor& x, std::size_t dim, Slide& slide, std::int64_t count);

// The attribute: pairs and quadruples in the order of the dimensions.
Window window_of(const std::vector<Slide>& slides);

// Returns element i of a list with one element for all dimensions, or one for each.
std::int64_t element(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise);

// An image with the channels innermost: N, H, W, C.
Tensor channels_last(Emitter& emit, const Tensor& x);
Order channels_last_order(std::size_t rank);

}  // namespace depute::tosa
