// Maxima and averages over windows of images.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "emitter.h"
#include "ops/places.h"
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
  const Tensor zero = emit.zero_point(x.dtype, emit.zero());
  const Window window = window_of(slides);
  const Tensor made = op == Op::MaxPool2d ? emit.raw(op, {image}, x.dtype, sizes, window)
                                          : emit.raw(op, {image, zero, zero}, x.dtype, sizes, window);
  return emit.as(made, order);
}

Check check_windows(const OpCall& call, const Tensor& x, const std::vector<Slide>& slides) {
  if (x.rank() != 4 && x.rank() != 3) return Refusal{"rank", std::to_string(x.rank()), "3 or 4"};
  for (const Slide& slide : slides) {
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

// TOSA has no dilation here: the elements of each window are put beside one another, [a, b, c, d] -> [a, c, b, d].
Tensor without_dilation(Emitter& emit, const Tensor& x, std::size_t dim, Slide& slide, std::int64_t count) {
  if (slide.dilation == 1) return x;
  std::vector<std::int64_t> widths(2 * x.rank(), 0);
  widths[2 * dim] = slide.before;
  widths[2 * dim + 1] = slide.after;
  Places places;
  for (std::int64_t window = 0; window < count; ++window) {
    for (std::int64_t i = 0; i < slide.kernel; ++i)
      places.push_back(static_cast<std::int32_t>(window * slide.stride + i * slide.dilation));
  }
  const bool is_padded = slide.before != 0 || slide.after != 0;
  const Tensor whole = is_padded ? emit.pad(x, widths, -std::numeric_limits<double>::infinity()) : x;
  slide = {.kernel = slide.kernel, .stride = slide.kernel};
  return at_places(emit, whole, dim, places);
}

Check max_pool(Emitter& emit, const OpCall& call) {
  if (call.node()->results().size() > 1 && call.node()->result(1)->has_uses())
    return Refusal{"unused-result", "result 1 is used", "result 0 alone"};
  std::vector<Slide> slides = slides_of(call, true);
  Tensor x = emit.input(call, "self");
  DEPUTE_REFUSE_IF(check_windows(call, x, slides));
  x = emit.reshape(x, with_batch(x.shape));
  const Shape result = with_batch(emit.result_shape());
  for (std::size_t i = 0; i < 2; ++i) {
    x = fit_window(emit, x, 2 + i, slides[i], result[2 + i]);
    x = without_dilation(emit, x, 2 + i, slides[i], result[2 + i]);
  }
  return emit.result(emit.reshape(pool(emit, Op::MaxPool2d, x, result, slides), emit.result_shape()));
}

struct Average {
  Tensor x;  // with a batch
  Shape result;
  std::vector<Slide> slides;
  double factor = 1;               // of the averages
  bool has_whole_windows = false;  // each average is of the same number of elements; padding counts as zeros
};

// TOSA divides by the number of elements inside the image. Where padding counts, it is a part of the image; so is what
// lies under the last windows, where a divisor is given.
Check read_average(Emitter& emit, const OpCall& call, Average& average) {
  std::vector<Slide> slides = slides_of(call, false);
  Tensor x = emit.input(call, "self");
  DEPUTE_REFUSE_IF(check_windows(call, x, slides));
  const bool has_divisor = !call["divisor_override"].is_none();
  const bool counts_padding = call.boolean("count_include_pad");
  x = emit.reshape(x, with_batch(x.shape));
  average.result = with_batch(emit.result_shape());
  average.has_whole_windows = true;
  std::vector<std::int64_t> widths(2 * x.rank(), 0);
  for (std::size_t i = 0; i < 2; ++i) {
    Slide& slide = slides[i];
    std::int64_t after = slide.after;
    x = fit_window(emit, x, 2 + i, slide, average.result[2 + i]);
    if (has_divisor || counts_padding) {
      after = has_divisor ? slide.after : std::min(slide.after, after);
      widths[4 + 2 * i] = std::exchange(slide.before, 0);
      widths[5 + 2 * i] = after;
      slide.after -= after;
    }
    if (slide.before != 0 || slide.after != 0) average.has_whole_windows = false;
  }
  if (std::ranges::any_of(widths, [](std::int64_t width) { return width > 0; })) x = emit.pad(x, widths, 0);
  average.x = x;
  average.slides = slides;
  const auto area = static_cast<double>(slides[0].kernel * slides[1].kernel);
  if (has_divisor) average.factor = area / static_cast<double>(call.integer("divisor_override"));
  return {};
}

// Windows of one size, where the sizes of the input are multiples of those of the result.
Check read_adaptive_average(Emitter& emit, const OpCall& call, Average& average) {
  const Tensor given = emit.input(call, "self");
  average.x = emit.reshape(given, with_batch(given.shape));
  average.result = with_batch(emit.result_shape());
  average.has_whole_windows = true;
  for (std::size_t i = 2; i < 4; ++i) {
    if (average.x.shape[i] % average.result[i] != 0)
      return refuse_argument(call, "output_size", "divisors of the sizes");
    const std::int64_t size = average.x.shape[i] / average.result[i];
    average.slides.push_back({.kernel = size, .stride = size});
    if (size > max_kernel) return refuse_argument(call, "output_size", "windows of at most 8192");
  }
  return {};
}

Check avg_pool(Emitter& emit, const OpCall& call) {
  Average average;
  DEPUTE_REFUSE_IF(read_average(emit, call, average));
  if (!is_float(average.x.dtype)) return Refusal{"dtype", std::string(name(average.x.dtype)), "floats"};
  Tensor made = pool(emit, Op::AvgPool2d, average.x, average.result, average.slides);
  if (average.factor != 1) made = emit.mul(made, average.factor);
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

using ReadAverage = Check (*)(Emitter& emit, const OpCall& call, Average& average);

// Sums of windows, by a convolution with ones, rescaled once. AVG_POOL2D would round before the scale changes.
Tensor rescaled_average(Emitter& emit, const Average& average, const Quantization& from,
                        const Quantization& to) {
  const std::int64_t channels = average.x.shape[1];
  const std::int64_t area = average.slides[0].kernel * average.slides[1].kernel;
  const Dims sizes = {average.slides[0].kernel, average.slides[1].kernel, channels, 1};
  const std::vector<std::int8_t> numbers(static_cast<std::size_t>(area * channels), 1);
  const Tensor ones = emit.constant(
      weights::constant_of("", make_data<std::int8_t>(ScalarType::I8, sizes, std::span(numbers))));
  const Order order = channels_last_order(average.result.size());
  Shape result;
  for (const std::uint8_t dim : order) result.push_back(average.result[dim]);
  const Tensor bias = from.bits == 16 ? emit.zero_i48() : emit.zero_point(DType::I32);
  const Tensor operands[] = {channels_last(emit, average.x), ones, bias};
  const ProductScales scales = {
      .a_zero = from.zero_point,
      .factors = {average.factor * from.scale / to.scale / static_cast<double>(area)},
      .result = to};
  return emit.as(emit.product(Op::DepthwiseConv2d, operands, scales, result, window_of(average.slides)),
                 order);
}

template <ReadAverage read>
Check average_of_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("self"));
  const auto scale = emit.wanted(*call.node()->result());
  if (!x || !scale) return refuse_integers(x ? not_quantized : no_integers);
  emit.compute_in(x->quantization);
  Average average;
  DEPUTE_REFUSE_IF(read(emit, call, average));
  const bool is_same = average.factor == 1 && x->quantization == *scale;
  if (!is_same && average.has_whole_windows)
    return emit.integer_result(rescaled_average(emit, average, x->quantization, *scale), *scale);
  if (average.factor != 1) return refuse_argument(call, "divisor_override", "none");
  const Tensor made = pool(emit, Op::AvgPool2d, average.x, average.result, average.slides);
  return emit.integer_result(emit.requantize({made, x->quantization}, *scale), *scale);
}

}  // namespace

std::span<const OpRule> pooling() {
  static constexpr OpRule rules[] = {
      {.op = "aten._adaptive_avg_pool2d.default",
       .conditions = "output sizes of at most 64, or that divide the input's",
       .translate = adaptive_avg_pool,
       .integers = IntegerForm::Own,
       .translate_integers = average_of_integers<read_adaptive_average>},
      {.op = "aten.avg_pool2d.default",
       .translate = avg_pool,
       .integers = IntegerForm::Own,
       .translate_integers = average_of_integers<read_average>},
      {.op = "aten.max_pool2d.default",
       .keep_whole = true,
       .translate = max_pool,
       .integers = IntegerForm::SameScale},
      {.op = "aten.max_pool2d_with_indices.default",
       .conditions = "result 0 alone",
       .translate = max_pool,
       .integers = IntegerForm::SameScale},
  };
  return rules;
}

}  // namespace depute::tosa::ops
