// Pooling. Forms with a kernel in the runtime stay; other ranks and adaptive forms become those, or a mean.
//
//   aten.adaptive_avg_pool2d.default(f32[1, 8, 7, 7], [1, 1])  ->  aten.mean.dim(%x, [2, 3], true)
#include <fmt/format.h>

#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/layers/windows.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- decompositions

// Pools one dimension as two; the first has size 1.
Replacement max_pool1d_with_indices(Builder& b, const OpCall& call) {
  TRY(PoolWindow w, read_pool_window(call, 1, true));
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  std::vector<Value*> pooled = b.call_all("aten.max_pool2d_with_indices.default",
                                          {image, Ints{1, w.kernel[0]}, Ints{1, w.stride[0]},
                                           Ints{0, w.padding[0]}, Ints{1, w.dilation[0]}, w.ceil_mode});
  for (Value*& value : pooled) value = b.call("aten.squeeze.dims", {value, Ints{-2}});
  return pooled;
}
Replacement max_pool1d(Builder& b, const OpCall& call) {
  TRY(std::vector<Value*> results, max_pool1d_with_indices(b, call));
  return one(results[0]);
}
// Whether a window may step over the whole image with its dilation, from padding to padding.
bool may_hold_padding_alone(Builder& b, const TensorType& self, const PoolWindow& w) {
  const std::size_t lead = self.rank() - w.dilation.size();
  for (std::size_t i = 0; i < w.dilation.size(); ++i)
    if (w.padding[i] > 0 && b.range_of(self.sizes[lead + i]).min < w.dilation[i]) return true;
  return false;
}
Argument least_of(ScalarType dtype) {
  if (is_floating(dtype)) return Argument::of(-std::numeric_limits<double>::infinity());
  const auto bits = static_cast<int>(item_size(dtype)) * 8;
  return Argument::of(dtype == ScalarType::U8 ? 0 : std::numeric_limits<std::int64_t>::min() >> (64 - bits));
}
// The kernel keeps a NaN only where it stands first in a window, and gives 0 for a window of padding alone: where
// numbers and NaNs are is a pool of its own, of 1 and 2.
Replacement max_pool_as_marked(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(const PoolWindow w, read_pool_window(call, 2, true));
  const bool has_padding = may_hold_padding_alone(b, self, w), has_nan = is_floating(self.dtype);
  if (!has_padding && !has_nan) return std::vector<Value*>{};
  if (has_padding && call.node()->result(1)->has_uses())
    return argument_error(
        "unsupported: indices of windows that may contain only padding (torch's indices are outside of the "
        "image)");
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  const std::string_view pool = call.def().name.str();
  std::vector<Value*> results = b.call_all(pool, args);
  Value* is_nan = to_dtype(b, b.call("aten.isnan.default", {call["self"]}), ScalarType::U8);
  args[0] = b.call("aten.add.Scalar", {is_nan, 1});
  const std::vector<Value*> marks = b.call_all(pool, args);
  const auto put = [&](std::int64_t mark, const Argument& number) {
    Value* is_marked = b.call("aten.eq.Scalar", {marks[0], mark});
    results[0] = b.call("aten.where.ScalarSelf", {is_marked, number, results[0]});
  };
  if (has_nan) put(2, Argument::of(std::numeric_limits<double>::quiet_NaN()));
  if (has_padding) put(0, least_of(self.dtype));
  return results;
}
Types infer_like_self(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, call.tensor("self").sizes);
}
Types infer_max_pool2d_backward(const OpCall& call) {
  const TensorType &self = call.tensor("self"), &indices = call.tensor("indices");
  if (self.rank() != 3 && self.rank() != 4)
    return argument_error(fmt::format("a gradient of rank {} is not supported", self.rank()));
  if (indices.rank() != self.rank())
    return argument_error(
        fmt::format("indices of rank {} do not match images of rank {}", indices.rank(), self.rank()));
  return infer_like_self(call);
}
// Adds each gradient to the element that its index selects.
Replacement max_pool2d_backward(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  const Dims& pooled = call.tensor("indices").sizes;
  std::size_t lead = self.rank() - 2;
  SymInt images = product({self.sizes.data(), lead});
  Dims small{images, product({pooled.data() + lead, 2})};
  Value* gradient =
      b.call("aten.full.default", {Dims{images, product({self.sizes.data() + lead, 2})}, 0, self.dtype});
  Value* source = to_dtype(b, b.own(call.value("grad_output")), self.dtype);
  gradient = b.call("aten.scatter_add.default",
                    {gradient, 1, b.view(b.own(call.value("indices")), small), reshape(b, source, small)});
  return one(reshape(b, gradient, self.sizes));
}
Replacement avg_pool1d(Builder& b, const OpCall& call) {
  TRY(PoolWindow w, read_pool_window(call, 1, false));
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  Value* pooled =
      b.call("aten.avg_pool2d.default", {image, Ints{1, w.kernel[0]}, Ints{1, w.stride[0]},
                                         Ints{0, w.padding[0]}, w.ceil_mode, call["count_include_pad"]});
  return one(b.call("aten.squeeze.dims", {pooled, Ints{-2}}));
}

// Returns the equal, non-overlapping windows of an adaptive pool; nullopt if sizes are not divisible.
std::optional<PoolWindow> even_window(const TensorType& self, const Dims& wanted) {
  PoolWindow w;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const SymInt& size = self.sizes[self.rank() - wanted.size() + i];
    if (!size.is_constant() || !wanted[i].is_constant() || wanted[i].value() <= 0) return {};
    if (size.value() % wanted[i].value() != 0) return {};
    w.kernel.push_back(size.value() / wanted[i].value());
  }
  return w;
}

// Returns the mean over the last `count` dimensions if the pool leaves one element of each; null otherwise.
Value* global_mean(Builder& b, const OpCall& call, const Dims& wanted) {
  for (const SymInt& size : wanted) {
    if (size != 1) return nullptr;
  }
  Ints dims;
  auto rank = static_cast<std::int64_t>(call.tensor("self").rank());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    dims.push_back(rank - static_cast<std::int64_t>(wanted.size() - i));
  }
  return b.call("aten.mean.dim", {call["self"], dims, true});
}

Replacement adaptive_avg_pool2d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 2));
  if (Value* mean = global_mean(b, call, wanted)) return one(mean);
  auto window = even_window(call.tensor("self"), wanted);
  if (!window) return one(b.call("aten._adaptive_avg_pool2d.default", call.args()));
  if (window->kernel == Ints{1, 1}) return one(b.call("aten.alias.default", {call["self"]}));
  return one(b.call("aten.avg_pool2d.default", {call["self"], window->kernel, window->kernel}));
}
Replacement adaptive_avg_pool1d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 1));
  if (Value* mean = global_mean(b, call, wanted)) return one(mean);
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  Value* pooled = b.call("aten.adaptive_avg_pool2d.default", {image, Dims{1, wanted[0]}});
  return one(b.call("aten.squeeze.dims", {pooled, Ints{-2}}));
}
Replacement adaptive_max_pool1d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 1));
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  std::vector<Value*> pooled = b.call_all("aten.adaptive_max_pool2d.default", {image, Dims{1, wanted[0]}});
  std::vector<Value*> results;
  results.reserve(pooled.size());
  for (Value* value : pooled) results.push_back(b.call("aten.squeeze.dims", {value, Ints{-2}}));
  return results;
}
Replacement adaptive_max_pool2d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 2));
  auto window = even_window(call.tensor("self"), wanted);
  if (!window) return uneven_max_pool(b, call, 2);
  return b.call_all("aten.max_pool2d_with_indices.default", {call["self"], window->kernel, window->kernel});
}

}  // namespace

std::span<const OpLine> pooling_ops() {
  static constexpr OpLine lines[] = {
      {"aten.avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
       "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)",
       kernel("avg_pool2d.out", infer_avg_pool<2>)},
      {"aten.avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
       "ceil_mode=False, bool count_include_pad=True)",
       composite(infer_avg_pool<1>, avg_pool1d)},
      {"aten.max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
       "int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
       fitted(max_pool_as_marked, kernel("max_pool2d_with_indices.out", infer_max_pool_with_indices<2>))},
      {"aten.max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] "
       "dilation=[1], bool ceil_mode=False)",
       composite(infer_max_pool<1>, max_pool1d)},
      {"aten.max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
       "int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
       composite(infer_max_pool_with_indices<1>, max_pool1d_with_indices)},
      {"aten.max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] "
       "stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices)",
       composite(infer_max_pool2d_backward, max_pool2d_backward)},
      {"aten.max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
       "dilation=1, bool ceil_mode=False)",
       composite(infer_max_pool<2>, text<"pooled = max_pool2d_with_indices(self, kernel_size, stride, "
                                         "padding, dilation, ceil_mode); pooled[0]">)},
      {"aten._adaptive_avg_pool2d(Tensor self, SymInt[2] output_size)",
       kernel("_adaptive_avg_pool2d.out", infer_adaptive<2>)},
      {"aten.adaptive_avg_pool1d(Tensor self, int[1] output_size)",
       composite(infer_adaptive<1>, adaptive_avg_pool1d)},
      {"aten.adaptive_avg_pool2d(Tensor self, SymInt[2] output_size)",
       composite(infer_adaptive<2>, adaptive_avg_pool2d)},
      {"aten.adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
       composite(infer_adaptive_pair<1>, adaptive_max_pool1d)},
      {"aten.adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
       composite(infer_adaptive_pair<2>, adaptive_max_pool2d)},
  };
  return lines;
}

}  // namespace depute::internal
