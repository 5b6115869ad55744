// Rewrites 3-d convolutions as 2-d ones. Slices that meet the same kernel position become channels:
//
//   x [n, c, d, h, w], weight [o, c, k, ..]
//     ->  x by index [n, c, d', k, h, w]  ->  images [n * d', c * k, h, w], weight [o, c * k, ..]
//
// A transposed one computes the slices of its kernel as channels, and adds them where they overlap.
#include "ops/shared_rules.h"

#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Convolution {
  Ints stride, padding, dilation, output_padding;
  Value* input;
  Value* weight;
  Value* bias;
  Argument groups;
};

Result<Convolution> read(Builder& b, const OpCall& call) {
  for (std::string_view name : {"stride", "padding", "dilation", "output_padding"}) {
    if (!call.is_constant_ints(name))
      return type_error("strides, padding and dilation of a convolution must be constants");
  }
  Convolution c{.stride = call.ints("stride"),
                .padding = call.ints("padding"),
                .dilation = call.ints("dilation"),
                .output_padding = call.ints("output_padding"),
                .input = b.own(call.value("input")),
                .weight = b.own(call.value("weight")),
                .bias = b.own(call.value("bias")),
                .groups = call["groups"]};
  for (Ints* numbers : {&c.stride, &c.padding, &c.dilation, &c.output_padding}) {
    if (numbers->size() == 1) numbers->resize(3, (*numbers)[0]);
    if (numbers->size() != 3)
      return argument_error("strides, padding and dilation need one value for each spatial dimension");
  }
  return c;
}

Ints image_part(const Ints& numbers) {
  return {numbers[1], numbers[2]};
}

Value* convolve_images(Builder& b, const Convolution& c, Value* images, Value* weight, Value* bias,
                       bool transposed) {
  return b.call("aten.convolution.default",
                {images, weight, bias, image_part(c.stride), image_part(c.padding), image_part(c.dilation),
                 transposed, image_part(c.output_padding), c.groups});
}

// Returns [steps, kernel]: the depth index of each slice of the kernel at each step.
Value* depth_index(Builder& b, const Convolution& c, const SymInt& steps, const SymInt& kernel) {
  Value* start = b.call("aten.mul.Tensor", {range(b, steps), c.stride[0]});
  Value* offset = b.call("aten.mul.Tensor", {range(b, kernel), c.dilation[0]});
  return b.call("aten.add.Tensor", {b.call("aten.unsqueeze.default", {start, 1}), offset});
}

// Views [n, c, d, ..] as [n * d, c, ..].
Value* slices(Builder& b, Value* x) {
  x = b.call("aten.permute.default", {x, Ints{0, 2, 1, 3, 4}});
  const Dims sizes = x->tensor().sizes;
  return b.view(x, {sizes[0] * sizes[1], sizes[2], sizes[3], sizes[4]});
}
Value* volumes(Builder& b, Value* images, const SymInt& batch, const SymInt& depth) {
  if (images == nullptr) return nullptr;
  const Dims sizes = images->tensor().sizes;
  Value* apart = b.view(images, {batch, depth, sizes[1], sizes[2], sizes[3]});
  return b.call("aten.permute.default", {apart, Ints{0, 2, 1, 3, 4}});
}

// Returns the weight with the kernel's slices merged into its channels.
Value* flat_weight(Builder& b, const Convolution& c) {
  const Dims& w = c.weight->tensor().sizes;
  return b.view(c.weight, {w[0], w[1] * w[2], w[3], w[4]});
}

Replacement plain(Builder& b, const Convolution& c) {
  const Dims x = c.input->tensor().sizes;
  const SymInt kernel = c.weight->tensor().sizes[2];
  SymInt span = x[2] + 2 * c.padding[0] - (kernel - 1) * c.dilation[0] - 1;
  SymInt depth = floor_div(span, c.stride[0]) + 1;
  Value* input = c.input;
  if (c.padding[0] != 0) {
    Ints pad{0, 0, 0, 0, c.padding[0], c.padding[0]};
    input = b.call("aten.constant_pad_nd.default", {input, pad});
  }
  Value* images = nullptr;
  if (kernel == 1) {
    if (c.stride[0] != 1) {
      input = b.call("aten.slice.Tensor", {input, 2, 0, b.size(x[2] + 2 * c.padding[0]), c.stride[0]});
    }
    images = slices(b, input);
  } else {
    std::vector<Value*> indices{nullptr, nullptr, depth_index(b, c, depth, kernel)};
    Value* read = b.call("aten.index.Tensor", {input, indices});
    read = b.call("aten.permute.default", {read, Ints{0, 2, 1, 3, 4, 5}});
    images = reshape(b, read, {x[0] * depth, x[1] * kernel, x[3], x[4]});
  }
  Value* result = convolve_images(b, c, images, flat_weight(b, c), c.bias, false);
  return one(volumes(b, result, x[0], depth));
}

Replacement transposed(Builder& b, const Convolution& c) {
  const Dims x = c.input->tensor().sizes;
  const SymInt kernel = c.weight->tensor().sizes[2];
  Value* weight = flat_weight(b, c);
  Value* images = convolve_images(b, c, slices(b, c.input), weight, nullptr, true);
  if (images == nullptr) return one(nullptr);
  const Dims sizes = images->tensor().sizes;
  SymInt channels = floor_div(sizes[1], kernel);
  // [n, d, o, k, h, w] to [n, o, d, k, h, w]
  Value* parts = b.view(images, {x[0], x[2], channels, kernel, sizes[2], sizes[3]});
  parts = b.call("aten.permute.default", {parts, Ints{0, 2, 1, 3, 4, 5}});
  SymInt reach = (x[2] - 1) * c.stride[0] + (kernel - 1) * c.dilation[0] + 1;
  SymInt depth = reach - 2 * c.padding[0] + c.output_padding[0];
  SymInt whole = reach + c.output_padding[0];
  ScalarType dtype = c.input->tensor().dtype;
  Value* sum = b.call("aten.full.default", {Dims{x[0], channels, whole, sizes[2], sizes[3]}, 0, dtype});
  std::vector<Value*> indices{nullptr, nullptr, depth_index(b, c, x[2], kernel)};
  sum = b.call("aten.index_put.default", {sum, indices, parts, true});
  if (c.padding[0] != 0) {
    sum = b.call("aten.slice.Tensor", {sum, 2, c.padding[0], b.size(depth + c.padding[0])});
  }
  if (c.bias != nullptr) sum = b.call("aten.add.Tensor", {sum, along(b, c.bias, 0, 4)});
  return one(sum);
}

}  // namespace

Replacement convolution_3d(Builder& b, const OpCall& call) {
  if (call.tensor("weight").rank() != 5) return std::vector<Value*>{};
  TRY(Convolution c, read(b, call));
  bool is_batched = c.input->tensor().rank() == 5;
  if (!is_batched) c.input = b.call("aten.unsqueeze.default", {c.input, 0});
  TRY(std::vector<Value*> results, call.boolean("transposed") ? transposed(b, c) : plain(b, c));
  if (is_batched || results[0] == nullptr) return results;
  return one(b.call("aten.squeeze.dims", {results[0], Ints{0}}));
}

}  // namespace depute::internal
