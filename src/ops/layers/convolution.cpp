// Convolutions: all variants become aten.convolution.default with one number per spatial dimension.
//
//   aten.conv2d.default(%x, %w, %b, [2, 2], [1, 1])
//   aten.convolution.default(%x, %w, %b, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/macs.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Returns a list argument with one number per spatial dimension; a single number applies to all.
Result<Dims> one_per_dimension(const OpCall& call, std::string_view name, std::size_t count) {
  Dims values = as_dims(call[name]);
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() == count) return values;
  return argument_error(
      fmt::format("'{}' has {} values for {} spatial dimensions", name, values.size(), count));
}

struct ConvolutionCall {
  std::size_t spatial;  // spatial dimensions
  Dims stride, padding, dilation, output_padding;
};

Result<ConvolutionCall> read_call(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() < 3) return argument_error("a convolution's weight must have rank 3 or more");
  ConvolutionCall result{.spatial = weight.rank() - 2};
  TRY(result.stride, one_per_dimension(call, "stride", result.spatial));
  TRY(result.dilation, one_per_dimension(call, "dilation", result.spatial));
  result.padding.assign(result.spatial, SymInt(std::int64_t{0}));
  result.output_padding.assign(result.spatial, SymInt(std::int64_t{0}));
  return result;
}

SymInt convolved(const SymInt& size, const SymInt& kernel, const ConvolutionCall& c, std::size_t i) {
  return floor_div(size + c.padding[i] * 2 - c.dilation[i] * (kernel - 1) - 1, c.stride[i]) + 1;
}

SymInt transposed_size(const SymInt& size, const SymInt& kernel, const ConvolutionCall& c, std::size_t i) {
  return (size - 1) * c.stride[i] - c.padding[i] * 2 + c.dilation[i] * (kernel - 1) + c.output_padding[i] + 1;
}

// Fails unless the groups divide the weight's first dimension, and the input's channels match the weight.
Status check_groups(const OpCall& call, const TensorType& weight, const SymInt& channels, bool transposed) {
  const Argument& groups = call["groups"];
  const SymInt& first = weight.sizes[0];
  if (!groups.is_int() || !first.is_constant()) return {};
  if (groups.as_int() < 1 || groups.as_int() > std::max<std::int64_t>(first.value(), 1) ||
      first.value() % groups.as_int() != 0) {
    return argument_error(fmt::format("{} groups do not divide {} channels", groups.as_int(), first.str()));
  }
  const SymInt wanted = transposed ? first : weight.sizes[1] * groups.as_int();
  if (!channels.is_constant() || !wanted.is_constant() || channels == wanted) return {};
  return argument_error(
      fmt::format("the input has {} channels, but the weight expects {}", channels.str(), wanted.str()));
}

Types result_type(const OpCall& call, const ConvolutionCall& c, bool transposed) {
  const TensorType& input = call.tensor("input");
  const TensorType& weight = call.tensor("weight");
  bool is_batched = input.rank() == c.spatial + 2;
  if (!is_batched && input.rank() != c.spatial + 1) {
    return argument_error(
        fmt::format("an input of rank {} does not match a weight of rank {}", input.rank(), weight.rank()));
  }
  TRY_STATUS(check_groups(call, weight, input.sizes[input.rank() - c.spatial - 1], transposed));
  if (std::ranges::any_of(c.stride, [](const SymInt& s) { return s == 0; }))
    return argument_error("the stride must not be 0");
  Dims sizes;
  if (is_batched) sizes.push_back(input.sizes[0]);
  sizes.push_back(transposed ? weight.sizes[1] * as_sym_int(call["groups"]) : weight.sizes[0]);
  for (std::size_t i = 0; i < c.spatial; ++i) {
    const SymInt& size = input.sizes[input.rank() - c.spatial + i];
    const SymInt& kernel = weight.sizes[2 + i];
    sizes.push_back(transposed ? transposed_size(size, kernel, c, i) : convolved(size, kernel, c, i));
    if (sizes.back().is_constant() && sizes.back().value() < 0) {
      return argument_error(fmt::format("a kernel of size {} is larger than the padded input of size {}",
                                        kernel.str(), size.str()));
    }
  }
  return tensor_result(input.dtype, std::move(sizes));
}

Types infer_conv(const OpCall& call) {
  TRY(ConvolutionCall c, read_call(call));
  TRY(c.padding, one_per_dimension(call, "padding", c.spatial));
  return result_type(call, c, false);
}

Types infer_conv_transpose(const OpCall& call) {
  TRY(ConvolutionCall c, read_call(call));
  TRY(c.padding, one_per_dimension(call, "padding", c.spatial));
  TRY(c.output_padding, one_per_dimension(call, "output_padding", c.spatial));
  return result_type(call, c, true);
}

Types infer_convolution(const OpCall& call) {
  return call.boolean("transposed") ? infer_conv_transpose(call) : infer_conv(call);
}

// Builds the convolution; an input without a batch dimension gets one.
Replacement convolve(Builder& b, const OpCall& call, Value* input, const ConvolutionCall& c,
                     bool transposed) {
  bool is_batched = input->tensor().rank() == c.spatial + 2;
  if (!is_batched) input = b.call("aten.unsqueeze.default", {input, 0});
  Value* result =
      b.call("aten.convolution.default", {input, call["weight"], call["bias"], c.stride, c.padding,
                                          c.dilation, transposed, c.output_padding, call["groups"]});
  if (!is_batched) result = b.call("aten.squeeze.dims", {result, std::vector<std::int64_t>{0}});
  return one(result);
}

Replacement conv(Builder& b, const OpCall& call) {
  TRY(ConvolutionCall c, read_call(call));
  TRY(c.padding, one_per_dimension(call, "padding", c.spatial));
  return convolve(b, call, b.own(call.value("input")), c, false);
}

Replacement conv_transpose(Builder& b, const OpCall& call) {
  TRY(ConvolutionCall c, read_call(call));
  TRY(c.padding, one_per_dimension(call, "padding", c.spatial));
  TRY(c.output_padding, one_per_dimension(call, "output_padding", c.spatial));
  return convolve(b, call, b.own(call.value("input")), c, true);
}

// --- padding="same": zeros that preserve the size; an odd one is added at the end

struct SamePadding {
  Dims both;                         // at each end
  std::vector<std::int64_t> behind;  // one more at the end; last dimension first, as for pad
  bool is_uneven = false;
};

Result<SamePadding> same_padding(const OpCall& call, const ConvolutionCall& c) {
  SamePadding padding;
  padding.both.assign(c.spatial, SymInt(std::int64_t{0}));
  padding.behind.assign(2 * c.spatial, 0);
  if (call.text("padding") == "valid") return padding;
  const TensorType& weight = call.tensor("weight");
  for (std::size_t i = 0; i < c.spatial; ++i) {
    SymInt total = c.dilation[i] * (weight.sizes[2 + i] - 1);
    if (!total.is_constant()) return type_error("padding 'same' requires a constant kernel size");
    if (c.stride[i] != 1) return type_error("padding 'same' requires a stride of 1");
    padding.both[i] = total.value() / 2;
    bool is_odd = total.value() % 2 != 0;
    padding.behind[2 * (c.spatial - 1 - i) + 1] = is_odd ? 1 : 0;
    padding.is_uneven = padding.is_uneven || is_odd;
  }
  return padding;
}

Replacement conv_padding(Builder& b, const OpCall& call) {
  TRY(ConvolutionCall c, read_call(call));
  TRY(SamePadding padding, same_padding(call, c));
  c.padding = padding.both;
  Value* input = b.own(call.value("input"));
  if (padding.is_uneven) input = b.call("aten.constant_pad_nd.default", {input, padding.behind});
  return convolve(b, call, input, c, false);
}

}  // namespace

std::span<const OpLine> convolution_ops() {
  static constexpr OpLine lines[] = {
      {"aten.convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
       "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups)",
       counting(macs_of_convolution,
                on_complex(complex_convolution, accepting("input rank 3-4", {.flags = Core,
                                                                             .out = "convolution.out",
                                                                             .infer = infer_convolution,
                                                                             .decompose = convolution_3d})))},
      {"aten.conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
       "padding=[0], SymInt[1] dilation=[1], SymInt groups=1)",
       in_autocast(AutocastLower, composite(infer_conv, conv))},
      {"aten.conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
       "padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1)",
       in_autocast(AutocastLower, composite(infer_conv, conv))},
      {"aten.conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
       "padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1)",
       in_autocast(AutocastLower, composite(infer_conv, conv))},
      {"aten.conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str "
       "padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1)",
       in_autocast(AutocastLower, derived(conv_padding))},
      {"aten.conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str "
       "padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1)",
       in_autocast(AutocastLower, derived(conv_padding))},
      {"aten.conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str "
       "padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1)",
       in_autocast(AutocastLower, derived(conv_padding))},
      {"aten.conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
       "SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1])",
       in_autocast(AutocastLower, composite(infer_conv_transpose, conv_transpose))},
      {"aten.conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
       "SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, "
       "1])",
       in_autocast(AutocastLower, composite(infer_conv_transpose, conv_transpose))},
      {"aten.conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, "
       "1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] "
       "dilation=[1, 1, 1])",
       in_autocast(AutocastLower, composite(infer_conv_transpose, conv_transpose))},
  };
  return lines;
}

}  // namespace depute::internal
