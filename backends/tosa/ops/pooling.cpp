// Maxima and averages over windows of images.
#include <algorithm>
#include <utility>
#include <vector>

#include "emitter.h"
#include "windows.h"

namespace depute::tosa::ops {
namespace {

std::vector<Slide> slides_of(const OpCall& call, bool has_dilation) {
  const auto kernel = call.ints("kernel_size");
  const auto stride = call.ints("stride");
  const auto padding = call.ints("padding");
  const auto dilation = has_dilation ? call.ints("dilation") : std::vector<std::int64_t>();
  std::vector<Slide> slides;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t size = element(kernel, i, 1);
    const std::int64_t pad = element(padding, i, 0);
    slides.push_back({.kernel = size,
                      .stride = element(stride, i, size),
                      .dilation = element(dilation, i, 1),
                      .before = pad,
                      .after = pad});
  }
  return slides;
}

Tensor pool(Emitter& emit, Op op, const Tensor& x, const Shape& result, const std::vector<Slide>& slides) {
  const Order order = channels_last_order(result.size());
  Shape sizes;
  for (const std::uint8_t dim : order) sizes.push_back(result[dim]);
  const Tensor image = channels_last(emit, x);
  const Tensor zero = emit.zero_point(x.dtype);
  const Window window = window_of(slides);
  const Tensor made = op == Op::MaxPool2d ? emit.raw(op, {image}, x.dtype, sizes, window)
                                          : emit.raw(op, {image, zero, zero}, x.dtype, sizes, window);
  return emit.as(made, order);
}

Check check_windows(const OpCall& call, const Tensor& x, const std::vector<Slide>& slides) {
  if (x.rank() != 4 && x.rank() != 3) return Refusal{"rank", std::to_string(x.rank()), "3 or 4"};
  for (const Slide& slide : slides) {
    if (slide.dilation != 1) return refuse_argument(call, "dilation", "1");
    if (slide.kernel > max_kernel || slide.stride > max_kernel)
      return refuse_argument(call, "kernel_size", "at most 8192");
  }
  return {};
}

// Images without batches get one.
Shape with_batch(const Shape& shape) {
  Shape result;
  if (shape.size() == 3) result.push_back(1);
  for (const std::int64_t size : shape) result.push_back(size);
  return result;
}

Check max_pool(Emitter& emit, const OpCall& call) {
  if (call.node()->results().size() > 1 && call.node()->result(1)->has_uses())
    return Refusal{"unused-result", "result 1 is used", "result 0 alone"};
  std::vector<Slide> slides = slides_of(call, true);
  Tensor x = emit.input(call, "self");
  DEPUTE_REFUSE_IF(check_windows(call, x, slides));
  x = emit.reshape(x, with_batch(x.shape));
  const Shape result = with_batch(emit.result_shape());
  for (std::size_t i = 0; i < 2; ++i) x = fit_window(emit, x, 2 + i, slides[i], result[2 + i]);
  return emit.result(emit.reshape(pool(emit, Op::MaxPool2d, x, result, slides), emit.result_shape()));
}

// TOSA divides by the number of elements inside the image. Where padding counts, it is a part of the image; so is what
// lies under the last windows, where a divisor is given.
Check avg_pool(Emitter& emit, const OpCall& call) {
  std::vector<Slide> slides = slides_of(call, false);
  Tensor x = emit.input(call, "self");
  DEPUTE_REFUSE_IF(check_windows(call, x, slides));
  if (!is_float(x.dtype)) return Refusal{"dtype", std::string(name(x.dtype)), "floats"};
  const bool has_divisor = !call["divisor_override"].is_none();
  const bool counts_padding = call.boolean("count_include_pad");
  x = emit.reshape(x, with_batch(x.shape));
  const Shape result = with_batch(emit.result_shape());
  std::vector<std::int64_t> widths(2 * x.rank(), 0);
  for (std::size_t i = 0; i < 2; ++i) {
    Slide& slide = slides[i];
    std::int64_t after = slide.after;
    x = fit_window(emit, x, 2 + i, slide, result[2 + i]);
    if (!has_divisor && !counts_padding) continue;
    after = has_divisor ? slide.after : std::min(slide.after, after);
    widths[4 + 2 * i] = std::exchange(slide.before, 0);
    widths[5 + 2 * i] = after;
    slide.after -= after;
  }
  if (std::ranges::any_of(widths, [](std::int64_t width) { return width > 0; })) x = emit.pad(x, widths, 0);
  Tensor made = pool(emit, Op::AvgPool2d, x, result, slides);
  if (has_divisor) {
    const auto area = static_cast<double>(slides[0].kernel * slides[1].kernel);
    made = emit.mul(made, area / static_cast<double>(call.integer("divisor_override")));
  }
  return emit.result(emit.reshape(made, emit.result_shape()));
}

// The mean of each window of one dimension: those of an adaptive pooling may overlap, and differ in size.
Tensor adaptive_means(Emitter& emit, const Tensor& x, std::size_t dim, std::int64_t count) {
  const std::int64_t size = x.shape[dim];
  const std::size_t dims[] = {dim};
  if (count == 1) return emit.mean(x, dims);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = i * size / count;
    const std::int64_t end = ((i + 1) * size + count - 1) / count;
    parts.push_back(emit.mean(emit.slice(x, dim, start, end - start), dims));
  }
  return emit.concat(parts, dim);
}

Check adaptive_avg_pool(Emitter& emit, const OpCall& call) {
  const Tensor given = emit.input(call, "self");
  if (!is_float(given.dtype)) return Refusal{"dtype", std::string(name(given.dtype)), "floats"};
  Tensor x = emit.reshape(given, with_batch(given.shape));
  const Shape result = with_batch(emit.result_shape());
  std::vector<Slide> slides;
  bool has_equal_windows = true;
  for (std::size_t i = 2; i < 4; ++i) {
    slides.push_back({.kernel = x.shape[i] / result[i], .stride = x.shape[i] / result[i]});
    if (x.shape[i] % result[i] != 0 || slides.back().kernel > max_kernel) has_equal_windows = false;
  }
  if (has_equal_windows) {
    x = pool(emit, Op::AvgPool2d, x, result, slides);
  } else if (std::max(result[2], result[3]) > static_cast<std::int64_t>(max_list)) {
    return refuse_argument(call, "output_size", "at most 64, or divisors of the sizes");
  } else {
    for (std::size_t i = 2; i < 4; ++i) x = adaptive_means(emit, x, i, result[i]);
  }
  return emit.result(emit.reshape(x, emit.result_shape()));
}

}  // namespace

std::span<const OpRule> pooling() {
  static constexpr OpRule rules[] = {
      {.op = "aten._adaptive_avg_pool2d.default",
       .conditions = "output sizes of at most 64, or that divide the input's",
       .translate = adaptive_avg_pool},
      {.op = "aten.avg_pool2d.default", .translate = avg_pool},
      {.op = "aten.max_pool2d.default",
       .conditions = "no dilation",
       .keep_whole = true,
       .translate = max_pool},
      {.op = "aten.max_pool2d_with_indices.default",
       .conditions = "no dilation; result 0 alone",
       .translate = max_pool},
  };
  return rules;
}

}  // namespace depute::tosa::ops
