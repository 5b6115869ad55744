// Pixel shuffles: blocks of pixels that become channels, and the reverse.
//
//   aten.pixel_shuffle.default(%x: f32[1, 8, 2, 2], 2)  ->  f32[1, 2, 4, 4]
#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t max_factor = 1 << 16;

Types infer_pixel_shuffle(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  std::int64_t factor = call.integer("upscale_factor");
  if (self.rank() < 3 || factor <= 0 || factor > max_factor)
    return argument_error("pixel_shuffle requires a tensor of rank 3 or more");
  Dims sizes = self.sizes;
  std::size_t channels = self.rank() - 3;
  sizes[channels] = floor_div(sizes[channels], factor * factor);
  sizes[channels + 1] = sizes[channels + 1] * factor;
  sizes[channels + 2] = sizes[channels + 2] * factor;
  return tensor_result(self.dtype, std::move(sizes));
}
Types infer_pixel_unshuffle(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  std::int64_t factor = call.integer("downscale_factor");
  if (self.rank() < 3 || factor <= 0 || factor > max_factor)
    return argument_error("pixel_unshuffle requires a tensor of rank 3 or more");
  Dims sizes = self.sizes;
  std::size_t channels = self.rank() - 3;
  sizes[channels] = sizes[channels] * (factor * factor);
  sizes[channels + 1] = floor_div(sizes[channels + 1], factor);
  sizes[channels + 2] = floor_div(sizes[channels + 2], factor);
  return tensor_result(self.dtype, std::move(sizes));
}

}  // namespace

std::span<const OpLine> resize_ops() {
  static constexpr OpLine lines[] = {
      {"aten.pixel_shuffle(Tensor self, int upscale_factor)",
       on_complex(each_part, kernel("pixel_shuffle.out", infer_pixel_shuffle))},
      {"aten.pixel_unshuffle(Tensor self, int downscale_factor)",
       on_complex(each_part, kernel("pixel_unshuffle.out", infer_pixel_unshuffle))},
  };
  return lines;
}

}  // namespace depute::internal
