// Patches of images: unfold and fold, unpooling, and channel shuffles. All read and write by index; for
// static sizes the indices are constants.
//
//   aten.im2col.default(%x: f32[n, c, h, w], [2, 2], [1, 1], [0, 0], [1, 1])
//     ->  p = x[:, :, rows[2, 1, h - 1, 1], columns[2, 1, w - 1]]
//         view(p, [n, c * 4, (h - 1) * (w - 1)])
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Patches {
  Ints kernel, dilation, padding, stride;  // of rows and columns
  Dims counts;                             // number of patch positions
};

Result<Ints> pair_of(const OpCall& call, std::string_view name) {
  if (!call.is_constant_ints(name)) return type_error(fmt::format("'{}' must be constant", name));
  Ints values = call.ints(name);
  const bool is_small = std::ranges::all_of(values, [](std::int64_t n) { return n == static_cast<int>(n); });
  if (!is_small) return argument_error(fmt::format("'{}' has a value beyond 32 bits", name));
  if (values.size() == 1) values.push_back(values[0]);
  if (values.size() == 2) return values;
  return argument_error(fmt::format("'{}' has {} values for 2 spatial dimensions", name, values.size()));
}

Result<Patches> read_patches(const OpCall& call, const SymInt& height, const SymInt& width) {
  Patches p;
  TRY(p.kernel, pair_of(call, "kernel_size"));
  TRY(p.dilation, pair_of(call, "dilation"));
  TRY(p.padding, pair_of(call, "padding"));
  TRY(p.stride, pair_of(call, "stride"));
  const SymInt sizes[2] = {height, width};
  for (std::size_t i = 0; i < 2; ++i) {
    if (p.stride[i] <= 0) return argument_error("the stride must be positive");
    SymInt span = sizes[i] + (2 * p.padding[i] - p.dilation[i] * (p.kernel[i] - 1) - 1);
    p.counts.push_back(floor_div(span, p.stride[i]) + 1);
  }
  return p;
}

// Returns the positions of patch elements along one dimension of the padded image. For rows [kernel, 1,
// count, 1], for columns [kernel, 1, count]; they broadcast to [kernel, kernel, rows, columns].
Value* patch_index(Builder& b, const Patches& p, std::size_t i) {
  Value* offset = b.call("aten.mul.Tensor", {range(b, p.kernel[i]), p.dilation[i]});
  Value* start = b.call("aten.mul.Tensor", {range(b, p.counts[i]), p.stride[i]});
  std::size_t rank = i == 0 ? 4 : 3;
  return b.call("aten.add.Tensor", {along(b, offset, 0, rank), along(b, start, 2, rank)});
}

bool is_padded(const Patches& p) {
  return p.padding[0] != 0 || p.padding[1] != 0;
}

Types infer_im2col(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() != 3 && self.rank() != 4) return argument_error("the image has the wrong rank");
  std::size_t channels = self.rank() - 3;
  TRY(Patches p, read_patches(call, self.sizes[channels + 1], self.sizes[channels + 2]));
  Dims sizes(self.sizes.begin(), self.sizes.end() - 3);
  sizes.push_back(self.sizes[channels] * (p.kernel[0] * p.kernel[1]));
  sizes.push_back(p.counts[0] * p.counts[1]);
  return tensor_result(self.dtype, std::move(sizes));
}
Replacement im2col(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  const Dims& sizes = x->tensor().sizes;
  TRY(Patches p, read_patches(call, sizes[sizes.size() - 2], sizes.back()));
  TRY(std::vector<Type> types, infer_im2col(call));
  if (is_padded(p)) {
    Ints pad{p.padding[1], p.padding[1], p.padding[0], p.padding[0]};
    x = b.call("aten.constant_pad_nd.default", {x, pad});
  }
  std::vector<Value*> indices(sizes.size() - 2, nullptr);
  indices.push_back(patch_index(b, p, 0));
  indices.push_back(patch_index(b, p, 1));
  return one(reshape(b, b.call("aten.index.Tensor", {x, indices}), types[0].tensor.sizes));
}

Types infer_col2im(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() != 2 && self.rank() != 3) return argument_error("the patches have the wrong rank");
  Dims wanted = as_dims(call["output_size"]);
  TRY(Ints kernel, pair_of(call, "kernel_size"));
  if (wanted.size() != 2 || kernel[0] * kernel[1] <= 0) return argument_error("output_size must be given");
  Dims sizes(self.sizes.begin(), self.sizes.end() - 1);
  sizes.back() = floor_div(sizes.back(), kernel[0] * kernel[1]);
  sizes.insert(sizes.end(), wanted.begin(), wanted.end());
  return tensor_result(self.dtype, std::move(sizes));
}
// Adds patches at their positions; the padding is then removed.
Replacement col2im(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_col2im(call));
  Dims sizes = types[0].tensor.sizes;
  std::size_t rank = sizes.size();
  SymInt height = sizes[rank - 2], width = sizes.back();
  TRY(Patches p, read_patches(call, height, width));
  Dims patches(sizes.begin(), sizes.end() - 2);
  for (std::size_t i = 0; i < 2; ++i) patches.push_back(p.kernel[i]);
  patches.insert(patches.end(), p.counts.begin(), p.counts.end());
  Value* values = b.view(b.own(call.value("self")), patches);
  for (std::size_t i = 0; i < 2; ++i) sizes[rank - 2 + i] = sizes[rank - 2 + i] + 2 * p.padding[i];
  Value* image = b.call("aten.full.default", {sizes, 0, types[0].tensor.dtype});
  std::vector<Value*> indices(rank - 2, nullptr);
  indices.push_back(patch_index(b, p, 0));
  indices.push_back(patch_index(b, p, 1));
  image = b.call("aten.index_put.default", {image, indices, values, true});
  const SymInt ends[2] = {height, width};
  for (std::size_t i = 0; i < 2; ++i) {
    if (p.padding[i] == 0) continue;
    Argument end = b.size(ends[i] + p.padding[i]);
    image = b.call("aten.slice.Tensor", {image, static_cast<std::int64_t>(i) - 2, p.padding[i], end});
  }
  return one(image);
}

// --- unpooling: writes each element to the position in its index

template <std::size_t count>
Types infer_unpool(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Dims wanted = as_dims(call["output_size"]);
  if (wanted.size() != count || self.rank() < count + 1)
    return argument_error("the input of unpooling has the wrong rank");
  Dims sizes(self.sizes.begin(), self.sizes.end() - static_cast<std::ptrdiff_t>(count));
  sizes.insert(sizes.end(), wanted.begin(), wanted.end());
  return tensor_result(self.dtype, std::move(sizes));
}
template <std::size_t count>
Replacement unpool(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_unpool<count>(call));
  const Dims& sizes = types[0].tensor.sizes;
  const Dims& own = call.tensor("self").sizes;
  std::size_t lead = own.size() - count;
  SymInt images = product({own.data(), lead});
  Dims small{images, product({own.data() + lead, count})};
  Dims large{images, product({sizes.data() + lead, count})};
  Value* places = to_dtype(b, b.own(call.value("indices")), ScalarType::I64);
  Value* empty = b.call("aten.full.default", {large, 0, types[0].tensor.dtype});
  Value* filled = b.call("aten.scatter.src",
                         {empty, 1, reshape(b, places, small), b.view(b.own(call.value("self")), small)});
  return one(reshape(b, filled, sizes));
}

// --- channels [g, c] become [c, g]

}  // namespace

std::span<const OpLine> patch_ops() {
  static constexpr OpLine lines[] = {
      {"aten.im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)",
       composite(infer_im2col, im2col)},
      {"aten.col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
       "int[2] stride)",
       composite(infer_col2im, col2im)},
      {"aten.max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size)",
       in_autocast(AutocastF32, composite(infer_unpool<2>, unpool<2>))},
      {"aten.max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding)",
       in_autocast(AutocastF32, composite(infer_unpool<3>, unpool<3>))},
  };
  return lines;
}

}  // namespace depute::internal
