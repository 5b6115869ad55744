// Maxima and averages over windows, and resizing of images.
#include <algorithm>
#include <cmath>
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

// TOSA divides by the number of elements inside the image. Where padding counts, it is a part of the image.
Check avg_pool(Emitter& emit, const OpCall& call) {
  std::vector<Slide> slides = slides_of(call, false);
  Tensor x = emit.input(call, "self");
  DEPUTE_REFUSE_IF(check_windows(call, x, slides));
  const std::int64_t area = slides[0].kernel * slides[1].kernel;
  const bool is_padded = slides[0].before + slides[1].before > 0;
  const std::int64_t divisor = call["divisor_override"].is_none() ? area : call.integer("divisor_override");
  if (divisor != area && (call.boolean("ceil_mode") || (is_padded && !call.boolean("count_include_pad"))))
    return refuse_argument(call, "divisor_override", "none, with windows that reach over the border");
  x = emit.reshape(x, with_batch(x.shape));
  const Shape result = with_batch(emit.result_shape());
  if (is_padded && (call.boolean("count_include_pad") || divisor != area)) {
    x = emit.pad(x,
                 std::vector<std::int64_t>{0, 0, 0, 0, slides[0].before, slides[0].after, slides[1].before,
                                           slides[1].after},
                 0);
    for (Slide& slide : slides) slide.before = slide.after = 0;
  }
  for (std::size_t i = 0; i < 2; ++i) x = fit_window(emit, x, 2 + i, slides[i], result[2 + i]);
  Tensor made = pool(emit, Op::AvgPool2d, x, result, slides);
  if (divisor != area) made = emit.mul(made, static_cast<double>(area) / static_cast<double>(divisor));
  return emit.result(emit.reshape(made, emit.result_shape()));
}

// Windows of one size, where the sizes of the input are multiples of those of the result.
Check adaptive_avg_pool(Emitter& emit, const OpCall& call) {
  const Tensor given = emit.input(call, "self");
  const Tensor x = emit.reshape(given, with_batch(given.shape));
  const Shape result = with_batch(emit.result_shape());
  std::vector<Slide> slides;
  for (std::size_t i = 2; i < 4; ++i) {
    if (x.shape[i] % result[i] != 0) return refuse_argument(call, "output_size", "divisors of the sizes");
    slides.push_back({.kernel = x.shape[i] / result[i], .stride = x.shape[i] / result[i]});
    if (slides.back().kernel > max_kernel)
      return refuse_argument(call, "output_size", "windows of at most 8192");
  }
  return emit.result(emit.reshape(pool(emit, Op::AvgPool2d, x, result, slides), emit.result_shape()));
}

}  // namespace

std::span<const OpRule> pooling() {
  static constexpr OpRule rules[] = {
      {.op = "aten._adaptive_avg_pool2d.default",
       .conditions = "output sizes divide the input's",
       .translate = adaptive_avg_pool},
      {.op = "aten.avg_pool2d.default",
       .conditions = "divisor_override without windows over the border",
       .translate = avg_pool},
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
