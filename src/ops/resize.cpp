// Resizing of images, sampling grids, blocks of pixels, and Fourier transforms.
#include <cmath>

#include "depute/builder.h"
#include "ops/op_table.h"

namespace depute::internal {
namespace {

// The last `count` sizes are given, or the input's times the factors.
template <std::size_t count>
Types infer_upsample(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  if (input.rank() != count + 2) return type_error("an image of the wrong rank");
  Dims sizes = input.sizes;
  Dims wanted = as_dims(call["output_size"]);
  for (std::size_t i = 0; i < count; ++i) {
    SymInt& size = sizes[2 + i];
    if (wanted.size() == count) {
      size = wanted[i];
      continue;
    }
    const Argument& factors = call["scale_factors"];
    if (!factors.is_list() || factors.as_list().size() != count) return type_error("no output size");
    if (!size.is_constant() || !factors.as_list()[i].is_number()) {
      return type_error("a scale factor needs a constant size");
    }
    double scaled = static_cast<double>(size.value()) * factors.as_list()[i].as_double();
    if (!(scaled >= 0 && scaled < 1e15)) return type_error("a scale factor out of range");
    size = static_cast<std::int64_t>(scaled);
  }
  return tensor_result(input.dtype, std::move(sizes));
}

Types infer_grid_sampler(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType& grid = call.tensor("grid");
  if (input.rank() != 4 || grid.rank() != 4) return type_error("grid sampling of tensors not of rank 4");
  return tensor_result(input.dtype, {input.sizes[0], input.sizes[1], grid.sizes[1], grid.sizes[2]});
}
Replacement grid_sampler(Builder& b, const OpCall& call) {
  if (call.tensor("input").rank() != 4) return std::vector<Value*>{};
  return one(b.call("aten.grid_sampler_2d.default", call.args()));
}

constexpr std::int64_t max_factor = 1 << 16;

Types infer_pixel_shuffle(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  std::int64_t factor = call.integer("upscale_factor");
  if (self.rank() < 3 || factor <= 0 || factor > max_factor)
    return type_error("pixel_shuffle of a tensor without channels");
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
    return type_error("pixel_unshuffle of a tensor without channels");
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
      {"aten.upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors) -> Tensor",
       accepting("input f32 f16 bf16 f64", kernel("upsample_bilinear2d.vec_out", infer_upsample<2>))},
      {"aten.upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
       kernel("upsample_nearest2d.vec_out", infer_upsample<2>)},
      {"aten.upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors) -> Tensor",
       {.infer = infer_upsample<1>}},
      {"aten.upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
       "scale_factors) -> Tensor",
       {.infer = infer_upsample<2>}},
      {"aten.grid_sampler_2d.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
       "bool align_corners) -> Tensor",
       accepting("input f32 f64; grid f32 f64", kernel("grid_sampler_2d.out", infer_grid_sampler))},
      {"aten.grid_sampler.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
       "align_corners) -> Tensor",
       composite(infer_grid_sampler, grid_sampler)},
      {"aten.affine_grid_generator.default(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
       opaque()},
      {"aten.pixel_shuffle.default(Tensor self, int upscale_factor) -> Tensor",
       kernel("pixel_shuffle.out", infer_pixel_shuffle)},
      {"aten.pixel_unshuffle.default(Tensor self, int downscale_factor) -> Tensor",
       kernel("pixel_unshuffle.out", infer_pixel_unshuffle)},
      {"aten.im2col.default(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
       "-> Tensor",
       opaque()},
      {"aten.col2im.default(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
       "padding, int[2] stride) -> Tensor",
       opaque(core)},
      {"aten.stft.default(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
       "window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? "
       "align_to_window=None) -> Tensor",
       opaque()},
      {"aten._fft_r2c.default(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
       opaque(core, "_fft_r2c.out")},
      {"aten._fft_c2r.default(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
       opaque(core, "_fft_c2r.out")},
  };
  return lines;
}

}  // namespace depute::internal
