// Kernels that resize images: nearest and linear upsampling, and pixel shuffles.
#include <algorithm>
#include <cmath>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// A dimension of the image; `step` is the distance in the input per element of the result.
struct Axis {
  std::int64_t from = 1;
  std::int64_t to = 1;
  double step = 1;
  bool align_corners = false;

  std::int64_t nearest(std::int64_t place) const {
    return std::min(
        static_cast<std::int64_t>(std::floor(static_cast<float>(place) * static_cast<float>(step))),
        from - 1);
  }
  double linear(std::int64_t place) const {
    if (align_corners) return static_cast<double>(place) * step;
    return std::max((static_cast<double>(place) + 0.5) * step - 0.5, 0.0);
  }
};

// Returns the last dimensions of `sizes`, resized to the call's sizes or by its factors.
Result<std::vector<Axis>> read_axes(const KernelCall& call, const Shape& sizes, std::size_t rank) {
  bool align_corners = call.has("align_corners") && call.boolean("align_corners");
  Shape wanted = call.ints("output_size");
  std::vector<double> scales = call.numbers("scale_factors");
  if ((wanted.size() != rank) == (scales.size() != rank)) {
    return bad_arguments("each spatial dimension requires either an output size or a scale factor");
  }
  if (sizes.size() < rank + 1) return bad_arguments("the image has no channel dimension");
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    Axis axis{.from = sizes[sizes.size() - rank + i], .align_corners = align_corners};
    bool has_scale = wanted.empty();
    if (has_scale && !(scales[i] > 0 && scales[i] < 0x1p20))
      return bad_arguments("the factor must be positive");
    axis.to = has_scale ? static_cast<std::int64_t>(std::floor(static_cast<double>(axis.from) * scales[i]))
                        : wanted[i];
    if (axis.from < 1 || axis.to < 1) return bad_arguments("the image has no elements");
    if (align_corners) {
      axis.step = axis.to > 1 ? static_cast<double>(axis.from - 1) / static_cast<double>(axis.to - 1) : 0;
    } else {
      axis.step = has_scale ? 1 / scales[i] : static_cast<double>(axis.from) / static_cast<double>(axis.to);
    }
    axes.push_back(axis);
  }
  return axes;
}

// One dimension resized: each result is a weighted mean of two adjacent elements.
struct Sample {
  std::int64_t low;
  std::int64_t high;
  double share;  // weight of `high`
};

Sample nearest_sample(const Axis& axis, std::int64_t place) {
  std::int64_t at = axis.nearest(place);
  return {at, at, 0};
}
Sample linear_sample(const Axis& axis, std::int64_t place) {
  double at = axis.linear(place);
  std::int64_t low = std::min(static_cast<std::int64_t>(at), axis.from - 1);
  return {low, std::min(low + 1, axis.from - 1), std::clamp(at - static_cast<double>(low), 0.0, 1.0)};
}

using MakeSample = Sample (*)(const Axis& axis, std::int64_t place);

// Resizes a dimension that is followed by `inner` elements per index.
std::vector<double> resize_axis(const std::vector<double>& image, const Axis& axis, std::size_t inner,
                                MakeSample make_sample) {
  std::vector<double> result;
  auto from = static_cast<std::size_t>(axis.from);
  for (std::size_t start = 0; start < image.size(); start += from * inner) {
    for (std::int64_t place = 0; place < axis.to; ++place) {
      Sample sample = make_sample(axis, place);
      const double* low = image.data() + start + static_cast<std::size_t>(sample.low) * inner;
      const double* high = image.data() + start + static_cast<std::size_t>(sample.high) * inner;
      for (std::size_t i = 0; i < inner; ++i) {
        result.push_back(sample.share == 0 ? low[i] : low[i] * (1 - sample.share) + high[i] * sample.share);
      }
    }
  }
  return result;
}

template <std::size_t rank, MakeSample make_sample>
Contents upsample(const KernelCall& call) {
  const TensorData& input = call.tensor("input");
  Shape sizes = sizes_of(input);
  TRY(std::vector<Axis> axes, read_axes(call, sizes, rank));
  for (std::size_t i = 0; i < rank; ++i) sizes[sizes.size() - rank + i] = axes[i].to;
  ScalarType dtype = call.result_type();
  TRY_STATUS(check_arithmetic(dtype));
  return one(call.dense(dtype, sizes, [input, axes, dtype] {
    Elements<double> elements(input);
    std::vector<double> image(elements.begin(), elements.end());
    std::size_t inner = 1;
    for (std::size_t i = rank; i-- > 0;) {
      image = resize_axis(image, axes[i], inner, make_sample);
      inner *= static_cast<std::size_t>(axes[i].to);
    }
    return pack<double>(dtype, image);
  }));
}

// --- pixel shuffles

// Views `data` as `sizes`, permutes it by `order`, and views the elements as `result`.
TensorData regrouped(const TensorData& data, const Shape& sizes, const Shape& order, const Shape& result) {
  TensorData dense = data.contiguous();
  Shape strides = dense_strides(sizes);
  Shape new_sizes, new_strides;
  for (std::int64_t dim : order) {
    new_sizes.push_back(sizes[static_cast<std::size_t>(dim)]);
    new_strides.push_back(strides[static_cast<std::size_t>(dim)]);
  }
  TensorData moved = with_shape(dense, new_sizes, new_strides, dense.offset).contiguous();
  return with_shape(moved, result, dense_strides(result), moved.offset);
}

Contents pixel_shuffle(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  Shape sizes = sizes_of(self);
  std::int64_t r = call.integer("upscale_factor");
  if (sizes.size() < 3 || r < 1 || r > 1 << 15 || sizes.end()[-3] % (r * r) != 0) {
    return bad_arguments("the number of channels must be a multiple of the squared factor");
  }
  std::int64_t channels = sizes.end()[-3] / (r * r), height = sizes.end()[-2], width = sizes.back();
  sizes.resize(sizes.size() - 3);
  std::int64_t batch = static_cast<std::int64_t>(checked_count(sizes).value_or(0));
  sizes.insert(sizes.end(), {channels, height * r, width * r});
  return one(regrouped(self, {batch, channels, r, r, height, width}, {0, 1, 4, 2, 5, 3}, sizes));
}

Contents pixel_unshuffle(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  Shape sizes = sizes_of(self);
  std::int64_t r = call.integer("downscale_factor");
  if (sizes.size() < 3 || r < 1 || r > 1 << 15 || sizes.end()[-2] % r != 0 || sizes.back() % r != 0) {
    return bad_arguments("the image's height and width must be multiples of the factor");
  }
  std::int64_t channels = sizes.end()[-3], height = sizes.end()[-2] / r, width = sizes.back() / r;
  sizes.resize(sizes.size() - 3);
  std::int64_t batch = static_cast<std::int64_t>(checked_count(sizes).value_or(0));
  sizes.insert(sizes.end(), {channels * r * r, height, width});
  return one(regrouped(self, {batch, channels, height, r, width, r}, {0, 1, 3, 5, 2, 4}, sizes));
}

}  // namespace

std::span<const KernelLine> resize_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.upsample_nearest2d.vec", upsample<2, nearest_sample>},
      {"aten.upsample_bilinear2d.vec", upsample<2, linear_sample>},
      {"aten.upsample_linear1d.vec", upsample<1, linear_sample>},
      {"aten.pixel_shuffle.default", pixel_shuffle},
      {"aten.pixel_unshuffle.default", pixel_unshuffle},
  };
  return lines;
}

}  // namespace depute::internal
