// Convolutions of one to three dimensions, and transposed ones of one and two. TOSA has weights as
// [out, height, width, in], those of convolutions by channel as [height, width, in, multiples].
#include <algorithm>
#include <vector>

#include "emitter.h"
#include "integer_product.h"
#include "lower/weights/order.h"
#include "windows.h"

namespace depute::tosa::ops {
namespace {

struct Convolution {
  Tensor x;
  Tensor weight;
  Tensor bias;  // [out] or [1]
  ProductScales scales;
  std::vector<Slide> slides;
  std::vector<std::int64_t> output_padding;
  std::int64_t groups = 1;
  Shape result;  // N, C, spatial sizes
};

// A size of 1 before the last: rows of an image of height 1.
Shape as_image(const Shape& shape) {
  Shape image = shape;
  image.push_back(image.back());
  image[image.size() - 2] = 1;
  return image;
}

// Operands and result of one group of channels.
struct Group {
  Tensor x;
  Tensor weight;
  Tensor bias;
  Shape result;
  ProductScales scales;
};

Tensor convolve(Emitter& emit, Op op, const Group& group, const Tensor& weight,
                const std::vector<Slide>& slides) {
  const Order order = channels_last_order(group.result.size());
  Shape sizes;
  for (const std::uint8_t dim : order) sizes.push_back(group.result[dim]);
  const Tensor operands[] = {channels_last(emit, group.x), weight, group.bias};
  return emit.as(emit.product(op, operands, group.scales, sizes, window_of(slides)), order);
}

// [out, in, spatial...] with the input's channels innermost.
Tensor dense_weight(Emitter& emit, const Tensor& weight) {
  Tensor result = channels_last(emit, weight);
  result.order = weights::identity_order(result.rank());  // as it lies in memory
  return result;
}

// One convolution for each group of channels, whose results are joined.
Tensor by_groups(Emitter& emit, const Convolution& c, const auto& convolve_group) {
  if (c.groups == 1) return convolve_group(Group{c.x, c.weight, c.bias, c.result, c.scales});
  const bool has_bias = c.bias.shape[0] > 1;
  std::vector<Tensor> parts;
  Group group{c.x, c.weight, c.bias, c.result, c.scales};
  group.result[1] /= c.groups;
  const std::int64_t in = c.x.shape[1] / c.groups;
  const std::int64_t out = group.result[1];
  const std::int64_t rows = c.weight.shape[0] / c.groups;
  for (std::int64_t i = 0; i < c.groups; ++i) {
    group.x = emit.slice(c.x, 1, i * in, in);
    group.weight = emit.slice(c.weight, 0, i * rows, rows);
    if (has_bias) group.bias = emit.slice(c.bias, 0, i * out, out);
    if (c.scales.factors.size() > 1) {
      const auto first = c.scales.factors.begin() + i * out;
      group.scales.factors.assign(first, first + out);
    }
    parts.push_back(convolve_group(group));
  }
  return emit.concat(parts, 1);
}

Tensor forward(Emitter& emit, Convolution& c) {
  for (std::size_t i = 0; i < c.slides.size(); ++i)
    c.x = fit_window(emit, c.x, 2 + i, c.slides[i], c.result[2 + i]);
  const bool is_image = c.slides.size() == 2;
  const std::int64_t channels = c.x.shape[1];
  if (is_image && c.groups == channels && channels > 1) {
    // [C * M, 1, H, W] -> [C, M, H, W] -> [H, W, C, M]
    const std::int64_t multiples = c.weight.shape[0] / channels;
    const Tensor split =
        emit.in_rows(emit.reshape(c.weight, {channels, multiples, c.weight.shape[2], c.weight.shape[3]}));
    const Tensor weight = emit.in_rows(emit.permute(split, {2, 3, 0, 1}));
    return convolve(emit, Op::DepthwiseConv2d, Group{c.x, c.weight, c.bias, c.result, c.scales}, weight,
                    c.slides);
  }
  return by_groups(emit, c, [&](const Group& group) {
    return convolve(emit, is_image ? Op::Conv2d : Op::Conv3d, group, dense_weight(emit, group.weight),
                    c.slides);
  });
}

// Elements with zeros between them: [1, 2, 3] -> [1, 0, 2, 0, 3].
Tensor dilated(Emitter& emit, const Tensor& x, std::size_t dim, std::int64_t dilation) {
  if (dilation == 1 || x.shape[dim] == 1) return x;
  Shape rows;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    rows.push_back(x.shape[i]);
    if (i == dim) rows.push_back(1);
  }
  std::vector<std::int64_t> widths(2 * rows.size(), 0);
  widths[2 * dim + 3] = dilation - 1;
  Shape whole = x.shape;
  whole[dim] *= dilation;
  const Tensor spread = emit.reshape(emit.pad(emit.reshape(x, rows), widths, 0), whole);
  return emit.slice(spread, dim, 0, whole[dim] - dilation + 1);
}

// Weights are [in, out, H, W]. What padding takes from the result is negative padding of it. TOSA has no dilation
// here.
Tensor transposed(Emitter& emit, Convolution& c) {
  std::vector<Slide> slides = c.slides;
  for (std::size_t i = 0; i < slides.size(); ++i) {
    c.weight = dilated(emit, c.weight, 2 + i, slides[i].dilation);
    slides[i].kernel = c.weight.shape[2 + i];
    slides[i].dilation = 1;
  }
  for (std::size_t i = 0; i < slides.size(); ++i) {
    slides[i].after = c.output_padding[i] - slides[i].before;
    slides[i].before = -slides[i].before;
  }
  return by_groups(emit, c, [&](const Group& group) {
    const Tensor turned = emit.in_rows(emit.permute(group.weight, {1, 2, 3, 0}));
    return convolve(emit, Op::TransposeConv2d, group, turned, slides);
  });
}

Check check_sizes(const OpCall& call, const Convolution& c) {
  for (const Slide& slide : c.slides) {
    if (slide.kernel * slide.dilation > max_kernel || slide.stride > max_kernel || slide.before > max_kernel)
      return refuse_argument(call, "weight", "windows, strides and padding of at most 8192");
    if (call.boolean("transposed") && slide.before > (slide.kernel - 1) * slide.dilation)
      return refuse_argument(call, "padding", "less than the window");
  }
  if (call.boolean("transposed") && c.slides.size() != 2)
    return refuse_argument(call, "transposed", "False for three dimensions");
  return {};
}

// Computes a convolution of the operands, whose types are given by the caller.
Check convolve(Emitter& emit, const OpCall& call, Convolution& c, Tensor& made) {
  c.groups = call.integer("groups");
  if (c.x.rank() < 3 || c.x.rank() > 5) return Refusal{"rank", std::to_string(c.x.rank()), "3 to 5"};
  const std::size_t given = c.x.rank() - 2;
  const auto list = [&](std::string_view name, std::int64_t otherwise) {
    std::vector<std::int64_t> numbers;
    const std::vector<std::int64_t> ints = call.ints(name);
    if (given == 1) numbers.push_back(otherwise);  // of the height
    for (std::size_t i = 0; i < given; ++i) numbers.push_back(element(ints, i, otherwise));
    return numbers;
  };
  const auto stride = list("stride", 1);
  const auto padding = list("padding", 0);
  const auto dilation = list("dilation", 1);
  c.output_padding = list("output_padding", 0);
  c.result = emit.result_shape();
  if (given == 1) {
    c.x = emit.reshape(c.x, as_image(c.x.shape));
    c.weight = emit.reshape(c.weight, as_image(c.weight.shape));
    c.result = as_image(c.result);
  }
  for (std::size_t i = 0; i < stride.size(); ++i) {
    c.slides.push_back({.kernel = c.weight.shape[2 + i],
                        .stride = stride[i],
                        .dilation = dilation[i],
                        .before = padding[i],
                        .after = padding[i]});
  }
  DEPUTE_REFUSE_IF(check_sizes(call, c));
  made =
      emit.reshape(call.boolean("transposed") ? transposed(emit, c) : forward(emit, c), emit.result_shape());
  return {};
}

Check convolution(Emitter& emit, const OpCall& call) {
  Convolution c;
  c.x = emit.input(call, "input");
  if (!is_float(c.x.dtype)) return Refusal{"dtype", std::string(name(c.x.dtype)), "floats"};
  c.weight = emit.input(call, "weight");
  c.bias = call["bias"].is_none() ? emit.zero_point(c.x.dtype) : emit.input(call, "bias");
  Tensor made;
  DEPUTE_REFUSE_IF(convolve(emit, call, c, made));
  return emit.result(made);
}

Check convolution_of_integers(Emitter& emit, const OpCall& call) {
  const std::size_t out_dim = call.boolean("transposed") ? 1 : 0;
  const std::int64_t out = emit.result_shape()[1];
  IntegerProduct product;
  DEPUTE_REFUSE_IF(find_integer_product(emit, call, "input", "weight", "bias",
                                        {.dim = out_dim, .channels = out}, product));
  Convolution c{.x = product.a, .weight = product.b, .bias = product.bias, .scales = product.scales};
  Tensor made;
  DEPUTE_REFUSE_IF(convolve(emit, call, c, made));
  return emit.integer_result(made, product.result);
}

}  // namespace

std::span<const OpRule> convolution() {
  static constexpr OpRule rules[] = {
      {.op = "aten.convolution.default",
       .conditions = "one to three dimensions; transposed: one or two, padding less than the window",
       .keep_whole = true,
       .translate = convolution,
       .integers = IntegerForm::Own,
       .translate_integers = convolution_of_integers},
  };
  return rules;
}

}  // namespace depute::tosa::ops
