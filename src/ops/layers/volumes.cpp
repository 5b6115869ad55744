// Pooling over three dimensions as two pools of images: first over height and width, with depth as channels,
// then over depth, with height and width flattened. This also holds for averages, whose divisor is a product
// of counts. Adaptive max pools with windows of different sizes are read by index.
//
//   aten.avg_pool3d.default(f32[2, 3, 4, 8, 8], [2, 2, 2])
//     ->  view [6, 4, 8, 8], avg_pool2d [2, 2], view [6, 4, 16], avg_pool2d [2, 1], view [2, 3, 2, 4, 4]
#include <numeric>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/layers/windows.h"
#include "ops/op_table.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// The last three sizes, and the product of the leading ones.
struct Volume {
  SymInt count, depth, height, width;
};
Volume volume_of(const Dims& sizes) {
  std::size_t lead = sizes.size() - 3;
  return {product({sizes.data(), lead}), sizes[lead], sizes[lead + 1], sizes[lead + 2]};
}

Value* as_images(Builder& b, Value* x, const Volume& v) {
  return reshape(b, x, {v.count, v.depth, v.height, v.width});
}
// Views x as [count, depth, height * width]; `pooled` gives height and width.
Value* as_columns(Builder& b, Value* x, const Volume& v, const Volume& pooled) {
  return reshape(b, x, {v.count, v.depth, pooled.height * pooled.width});
}

// A window over height and width, or over depth.
struct Flat {
  Ints kernel, stride, padding, dilation;
};
Flat over_image(const PoolWindow& w) {
  auto last = [](const Ints& numbers) { return Ints{numbers[1], numbers[2]}; };
  return {last(w.kernel), last(w.stride), last(w.padding), last(w.dilation)};
}
Flat over_depth(const PoolWindow& w) {
  return {{w.kernel[0], 1}, {w.stride[0], 1}, {w.padding[0], 0}, {w.dilation[0], 1}};
}

Replacement avg_pool3d(Builder& b, const OpCall& call) {
  if (!is_floating(call.tensor("self").dtype))
    return type_error("3-d average pooling of integers is not supported");
  TRY(PoolWindow w, read_pool_window(call, 3, false));
  TRY(Dims sizes, pooled_sizes(call.tensor("self"), w));
  const Argument& divisor = call["divisor_override"];
  Argument sums = divisor.is_none() ? Argument::none() : Argument::of(1);
  Volume v = volume_of(call.tensor("self").sizes), pooled = volume_of(sizes);
  auto pool = [&](Value* x, const Flat& f) {
    return b.call("aten.avg_pool2d.default",
                  {x, f.kernel, f.stride, f.padding, w.ceil_mode, call["count_include_pad"], sums});
  };
  Value* images = pool(as_images(b, b.own(call.value("self")), v), over_image(w));
  Value* result = pool(as_columns(b, images, v, pooled), over_depth(w));
  if (!divisor.is_none()) result = b.call("aten.div.Tensor", {result, divisor});
  return one(reshape(b, result, sizes));
}

// Returns the index in the volume: the index in the slice of the largest element, offset by the slices before
// it.
Value* volume_index(Builder& b, Value* in_slice, Value* in_column, const Volume& v, const Volume& pooled) {
  SymInt area = pooled.height * pooled.width;
  Value* column = reshape(b, in_column, {v.count, pooled.depth * area});
  Value* slice = reshape(b, in_slice, {v.count, v.depth * area});
  Value* depth = b.call("aten.div.Tensor_mode", {column, b.size(area), "floor"});
  Value* above = b.call("aten.mul.Tensor", {depth, b.size(v.height * v.width)});
  return b.call("aten.add.Tensor", {above, b.call("aten.gather.default", {slice, 1, column})});
}

Replacement max_pool3d_with_indices(Builder& b, const OpCall& call) {
  TRY(PoolWindow w, read_pool_window(call, 3, true));
  TRY(Dims sizes, pooled_sizes(call.tensor("self"), w));
  Volume v = volume_of(call.tensor("self").sizes), pooled = volume_of(sizes);
  auto pool = [&](Value* x, const Flat& f) {
    return b.call_all("aten.max_pool2d_with_indices.default",
                      {x, f.kernel, f.stride, f.padding, f.dilation, w.ceil_mode});
  };
  std::vector<Value*> images = pool(as_images(b, b.own(call.value("self")), v), over_image(w));
  if (images.size() < 2) return images;
  std::vector<Value*> columns = pool(as_columns(b, images[0], v, pooled), over_depth(w));
  if (columns.size() < 2) return columns;
  Value* index = volume_index(b, images[1], columns[1], v, pooled);
  return std::vector<Value*>{reshape(b, columns[0], sizes), reshape(b, index, sizes)};
}
Replacement max_pool3d(Builder& b, const OpCall& call) {
  std::vector<Value*> results = b.call_all("aten.max_pool3d_with_indices.default", call.args());
  return one(results[0]);
}

// --- adaptive pools

Replacement adaptive_avg_pool3d(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_adaptive_of(call, 3));
  const Dims& sizes = types[0].tensor.sizes;
  if (std::ranges::any_of(sizes, [](const SymInt& size) { return size == 0; })) {
    return one(b.call("aten.full.default", {sizes, 0, types[0].tensor.dtype}));  // kernels need elements
  }
  Volume v = volume_of(call.tensor("self").sizes), pooled = volume_of(sizes);
  if (pooled.depth == 1 && pooled.height == 1 && pooled.width == 1) {
    return one(b.call("aten.mean.dim", {call["self"], Ints{-3, -2, -1}, true}));
  }
  Value* images = b.call("aten.adaptive_avg_pool2d.default",
                         {as_images(b, b.own(call.value("self")), v), Dims{pooled.height, pooled.width}});
  Value* columns =
      b.call("aten.adaptive_avg_pool2d.default",
             {as_columns(b, images, v, pooled), Dims{pooled.depth, pooled.height * pooled.width}});
  return one(reshape(b, columns, sizes));
}

// The indices that each window reads along one dimension, [to, longest]. Shorter windows repeat their last
// element.
struct WindowIndex {
  Value* places;
  std::int64_t from, to, longest;
};
Result<WindowIndex> window_index(Builder& b, const TensorType& self, std::size_t dim, const SymInt& wanted) {
  TRY(std::int64_t from, static_size(self, dim, "the size of a dimension that is pooled adaptively"));
  if (!wanted.is_constant() || wanted.value() <= 0 || from <= 0) {
    return type_error("the output size of adaptive max pooling must be constant");
  }
  // Window i ends at ceil((i + 1) * from / to). It starts and ends inside an element if `rest` and `to` have
  // no common step.
  std::int64_t to = wanted.value(), rest = from % to, longest = from / to;
  if (rest > 0) longest += rest > std::gcd(rest, to) ? 2 : 1;
  Value* scaled = b.call("aten.mul.Tensor", {range(b, to), from});
  Value* start = b.call("aten.div.Tensor_mode", {scaled, to, "floor"});
  Value* reach = b.call("aten.add.Tensor", {scaled, from + to - 1});
  Value* last = b.call("aten.sub.Tensor", {b.call("aten.div.Tensor_mode", {reach, to, "floor"}), 1});
  Value* places =
      b.call("aten.add.Tensor", {b.call("aten.unsqueeze.default", {start, 1}), range(b, longest)});
  places = b.call("aten.minimum.default", {places, b.call("aten.unsqueeze.default", {last, 1})});
  return WindowIndex{places, from, to, longest};
}

}  // namespace

Replacement uneven_max_pool(Builder& b, const OpCall& call, std::size_t count) {
  TRY(std::vector<Type> types, infer_adaptive_of(call, count));
  const TensorType& self = call.tensor("self");
  Dims sizes = types[0].tensor.sizes;
  std::size_t lead = sizes.size() - count;
  std::vector<Value*> indices(lead, nullptr);
  Value* flat = nullptr;  // for each element that is read, its index in the image
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < count; ++i) {
    TRY(WindowIndex window, window_index(b, self, lead + i, sizes[lead + i]));
    Dims shape(2 * count, SymInt(1));
    shape[i] = window.to;
    shape[count + i] = window.longest;
    Value* places = reshape(b, window.places, shape);
    indices.push_back(places);
    elements *= window.longest;
    Value* above = flat == nullptr ? nullptr : b.call("aten.mul.Tensor", {flat, window.from});
    flat = above == nullptr ? places : b.call("aten.add.Tensor", {above, places});
  }
  Dims windows = sizes;
  windows.push_back(elements);
  Value* read = reshape(b, b.call("aten.index.Tensor", {call["self"], indices}), windows);
  std::vector<Value*> greatest = b.call_all("aten.max.dim", {read, -1, true});
  if (greatest.size() < 2) return greatest;
  flat = reshape(b, flat, Dims(windows.begin() + static_cast<std::ptrdiff_t>(lead), windows.end()));
  Value* index =
      b.call("aten.gather.default", {b.call("aten.expand.default", {flat, windows}), -1, greatest[1]});
  return std::vector<Value*>{reshape(b, greatest[0], sizes), reshape(b, index, sizes)};
}

std::span<const OpLine> volume_ops() {
  static constexpr OpLine lines[] = {
      {"aten.avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
       "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
       in_autocast(AutocastF32, composite(infer_avg_pool<3>, avg_pool3d))},
      {"aten.max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
       "int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
       composite(infer_max_pool_with_indices<3>, max_pool3d_with_indices)},
      {"aten.max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
       "dilation=1, bool ceil_mode=False)",
       in_autocast(AutocastF32, composite(infer_max_pool<3>, max_pool3d))},
      {"aten._adaptive_avg_pool3d(Tensor self, SymInt[3] output_size)",
       composite(infer_adaptive<3>, adaptive_avg_pool3d)},
      {"aten.adaptive_avg_pool3d(Tensor self, SymInt[3] output_size)",
       in_autocast(AutocastF32, composite(infer_adaptive<3>, adaptive_avg_pool3d))},
      {"aten.adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
       in_autocast(AutocastF32, composite(infer_adaptive_pair<3>, given<uneven_max_pool, 3>))},
  };
  return lines;
}

}  // namespace depute::internal
