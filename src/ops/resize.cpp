// Sampling grids, blocks of pixels, and Fourier transforms.
#include "depute/builder.h"
#include "ops/complex_forms.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Types infer_grid_sampler(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType& grid = call.tensor("grid");
  if (input.rank() != 4 || grid.rank() != 4)
    return type_error("grid sampling of tensors not of rank 4: the runtime has no kernel for volumes");
  return tensor_result(input.dtype, {input.sizes[0], input.sizes[1], grid.sizes[1], grid.sizes[2]});
}
Replacement grid_sampler(Builder& b, const OpCall& call) {
  return one(b.call("aten.grid_sampler_2d.default", call.args()));
}
// Half precision is too coarse for places in an image.
Replacement grid_sampler_2d(Builder& b, const OpCall& call) {
  ScalarType dtype = call.tensor("input").dtype;
  if (!is_half_precision(dtype)) return std::vector<Value*>{};
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  for (std::size_t i = 0; i < 2; ++i) args[i] = to_compute_type(b, call[i].as_value());
  return one(to_dtype(b, b.call("aten.grid_sampler_2d.default", args), dtype));
}

// --- grids: the places of an image's elements, from -1 to 1, moved by matrices

Types infer_affine_grid(const OpCall& call) {
  Dims size = as_dims(call["size"]);
  const TensorType& theta = call.tensor("theta");
  if ((size.size() != 4 && size.size() != 5) || theta.rank() != 3) {
    return argument_error("a grid for an image of the wrong rank");
  }
  Dims sizes{size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.push_back(static_cast<std::int64_t>(size.size()) - 2);
  return tensor_result(theta.dtype, std::move(sizes));
}

// 2 i / (n - 1) - 1, or of the elements' middles (2 i + 1) / n - 1.
Value* grid_line(Builder& b, const SymInt& size, bool align_corners, ScalarType dtype) {
  Value* place = b.call("aten.mul.Tensor", {range(b, size, dtype), 2});
  if (align_corners && size == 1) return b.call("aten.full.default", {Dims{1}, 0, dtype});
  if (!align_corners) place = b.call("aten.add.Tensor", {place, 1});
  Value* length = size_tensor(b, align_corners ? size - 1 : size, dtype);
  return b.call("aten.sub.Tensor", {b.call("aten.div.Tensor", {place, length}), 1});
}

Replacement affine_grid(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_affine_grid(call));
  const Dims& sizes = types[0].tensor.sizes;
  std::size_t count = sizes.size() - 2;
  Dims image(sizes.begin() + 1, sizes.end() - 1);
  ScalarType dtype = compute_type(types[0].tensor.dtype);
  std::vector<Value*> columns;  // x, y, .., 1: the last dimension first
  for (std::size_t i = count; i-- > 0;) {
    Value* line = along(b, grid_line(b, image[i], call.boolean("align_corners"), dtype), i, count);
    columns.push_back(b.call("aten.expand.default", {line, image}));
  }
  columns.push_back(b.call("aten.full.default", {image, 1, dtype}));
  Value* places = b.call("aten.stack.default", {columns, -1});
  places = reshape(b, places, {product(image), static_cast<std::int64_t>(count) + 1});
  Value* turned = b.call("aten.transpose.int", {to_compute_type(b, call.value("theta")), 1, 2});
  Value* grid = reshape(b, b.call("aten.matmul.default", {places, turned}), sizes);
  return one(to_dtype(b, grid, types[0].tensor.dtype));
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
      {"aten.grid_sampler_2d.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
       "bool align_corners) -> Tensor",
       accepting("input f32 f64; grid f32 f64", {.flags = core,
                                                 .out = "grid_sampler_2d.out",
                                                 .infer = infer_grid_sampler,
                                                 .decompose = grid_sampler_2d})},
      {"aten.grid_sampler.default(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
       "align_corners) -> Tensor",
       composite(infer_grid_sampler, grid_sampler)},
      {"aten.affine_grid_generator.default(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
       composite(infer_affine_grid, affine_grid)},
      {"aten.pixel_shuffle.default(Tensor self, int upscale_factor) -> Tensor",
       on_complex(each_part, kernel("pixel_shuffle.out", infer_pixel_shuffle))},
      {"aten.pixel_unshuffle.default(Tensor self, int downscale_factor) -> Tensor",
       on_complex(each_part, kernel("pixel_unshuffle.out", infer_pixel_unshuffle))},
  };
  return lines;
}

}  // namespace depute::internal
