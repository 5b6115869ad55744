// Pooling. What the runtime has kernels for stays; other ranks and adaptive forms become those, or a mean.
//
//   aten.adaptive_avg_pool2d.default(f32[1, 8, 7, 7], [1, 1])  ->  aten.mean.dim(%x, [2, 3], true)
#include <fmt/format.h>

#include "depute/builder.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t max_window = std::int64_t{1} << 30;

// A list with one number per pooled dimension; a single number serves all, an empty list is `otherwise`.
Result<Ints> per_dimension(const OpCall& call, std::string_view name, std::size_t count,
                           Ints otherwise = {}) {
  if (!call.is_constant_ints(name)) return type_error(fmt::format("'{}' is not constant", name));
  Ints values = call.ints(name);
  if (values.empty()) values = std::move(otherwise);
  for (std::int64_t value : values) {
    if (value < 0 || value > max_window) return argument_error(fmt::format("'{}' has a {}", name, value));
  }
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() == count) return values;
  return argument_error(fmt::format("'{}' has {} numbers for {} dimensions", name, values.size(), count));
}

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

Result<Window> read_window(const OpCall& call, std::size_t count, bool has_dilation) {
  Window w;
  TRY(w.kernel, per_dimension(call, "kernel_size", count));
  TRY(w.stride, per_dimension(call, "stride", count, w.kernel));
  TRY(w.padding, per_dimension(call, "padding", count));
  w.dilation = Ints(count, 1);
  if (has_dilation) {
    TRY(w.dilation, per_dimension(call, "dilation", count));
  }
  w.ceil_mode = call.boolean("ceil_mode");
  return w;
}

Result<SymInt> pooled_size(const SymInt& size, const Window& w, std::size_t i) {
  std::int64_t stride = w.stride[i], padding = w.padding[i];
  if (stride <= 0 || w.kernel[i] <= 0) return type_error("a pooling window or stride that is not positive");
  SymInt span = size + (2 * padding - w.dilation[i] * (w.kernel[i] - 1) - 1);
  if (!w.ceil_mode) return floor_div(span, stride) + 1;
  if (!span.is_constant()) return type_error("ceil_mode needs a constant size");
  std::int64_t count = floor_div(span + (stride - 1), stride).value() + 1;
  if ((count - 1) * stride >= size.value() + padding)
    --count;  // a window may not start in the padding behind
  return SymInt(count);
}

Result<Dims> pooled_sizes(const TensorType& self, const Window& w) {
  std::size_t count = w.kernel.size();
  if (self.rank() != count + 1 && self.rank() != count + 2) {
    return argument_error(
        fmt::format("pooling over {} dimensions of a tensor of rank {}", count, self.rank()));
  }
  Dims sizes = self.sizes;
  for (std::size_t i = 0; i < count; ++i) {
    SymInt& size = sizes[self.rank() - count + i];
    TRY(size, pooled_size(size, w, i));
    if (size.is_constant() && size.value() <= 0) return type_error("a pooling window larger than its input");
  }
  return sizes;
}

template <std::size_t count>
Types infer_avg_pool(const OpCall& call) {
  TRY(Window w, read_window(call, count, false));
  TRY(Dims sizes, pooled_sizes(call.tensor("self"), w));
  return tensor_result(call.tensor("self").dtype, std::move(sizes));
}

template <std::size_t count>
Types infer_max_pool(const OpCall& call) {
  TRY(Window w, read_window(call, count, true));
  TRY(Dims sizes, pooled_sizes(call.tensor("self"), w));
  return tensor_result(call.tensor("self").dtype, std::move(sizes));
}

template <std::size_t count>
Types infer_max_pool_with_indices(const OpCall& call) {
  TRY(std::vector<Type> types, infer_max_pool<count>(call));
  types.push_back(types[0]);
  types[1].tensor.dtype = ScalarType::I64;
  return types;
}

// Unlike a window's sizes, one number does not stand for all: torch and the runtime's kernels refuse it.
Result<Dims> read_output_size(const OpCall& call, std::size_t count) {
  Dims wanted = as_dims(call["output_size"]);
  if (wanted.size() == count) return wanted;
  return argument_error(fmt::format("'output_size' has {} numbers for {} dimensions", wanted.size(), count));
}

template <std::size_t count>
Types infer_adaptive(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(Dims wanted, read_output_size(call, count));
  if (self.rank() < count + 1) {
    return argument_error(
        fmt::format("pooling over {} dimensions of a tensor of rank {}", count, self.rank()));
  }
  Dims sizes = self.sizes;
  std::copy(wanted.begin(), wanted.end(), sizes.end() - static_cast<std::ptrdiff_t>(count));
  return tensor_result(self.dtype, std::move(sizes));
}

template <std::size_t count>
Types infer_adaptive_pair(const OpCall& call) {
  TRY(std::vector<Type> types, infer_adaptive<count>(call));
  types.push_back(types[0]);
  types[1].tensor.dtype = ScalarType::I64;
  return types;
}

// --- decompositions

Replacement max_pool2d(Builder& b, const OpCall& call) {
  std::vector<Value*> results = b.call_all("aten.max_pool2d_with_indices.default", call.args());
  return one(results.empty() ? nullptr : results[0]);
}
Replacement max_pool3d(Builder& b, const OpCall& call) {
  std::vector<Value*> results = b.call_all("aten.max_pool3d_with_indices.default", call.args());
  return one(results.empty() ? nullptr : results[0]);
}

// A pool over one dimension is one over two, the first of size 1.
Replacement max_pool1d(Builder& b, const OpCall& call) {
  TRY(Window w, read_window(call, 1, true));
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  Value* pooled =
      b.call("aten.max_pool2d.default", {image, Ints{1, w.kernel[0]}, Ints{1, w.stride[0]},
                                         Ints{0, w.padding[0]}, Ints{1, w.dilation[0]}, w.ceil_mode});
  return one(b.call("aten.squeeze.dims", {pooled, Ints{-2}}));
}
Replacement avg_pool1d(Builder& b, const OpCall& call) {
  TRY(Window w, read_window(call, 1, false));
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  Value* pooled =
      b.call("aten.avg_pool2d.default", {image, Ints{1, w.kernel[0]}, Ints{1, w.stride[0]},
                                         Ints{0, w.padding[0]}, w.ceil_mode, call["count_include_pad"]});
  return one(b.call("aten.squeeze.dims", {pooled, Ints{-2}}));
}

// Equal windows without overlap: then an adaptive pool is a plain one. Nothing when sizes do not divide.
std::optional<Window> even_window(const TensorType& self, const Dims& wanted) {
  Window w;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const SymInt& size = self.sizes[self.rank() - wanted.size() + i];
    if (!size.is_constant() || !wanted[i].is_constant() || wanted[i].value() <= 0) return {};
    if (size.value() % wanted[i].value() != 0) return {};
    w.kernel.push_back(size.value() / wanted[i].value());
  }
  return w;
}

// The mean over the last `count` dimensions, when the pool leaves one element of each.
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
Replacement adaptive_avg_pool3d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 3));
  Value* mean = global_mean(b, call, wanted);
  if (mean == nullptr) return std::vector<Value*>{};
  return one(mean);
}

Replacement adaptive_max_pool1d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 1));
  Value* image = b.call("aten.unsqueeze.default", {call["self"], -2});
  std::vector<Value*> pooled = b.call_all("aten.adaptive_max_pool2d.default", {image, Dims{1, wanted[0]}});
  if (b.failed()) return Failure(b.status().error());
  std::vector<Value*> results;
  results.reserve(pooled.size());
  for (Value* value : pooled) results.push_back(b.call("aten.squeeze.dims", {value, Ints{-2}}));
  return results;
}
Replacement adaptive_max_pool2d(Builder& b, const OpCall& call) {
  TRY(Dims wanted, read_output_size(call, 2));
  auto window = even_window(call.tensor("self"), wanted);
  if (!window) return std::vector<Value*>{};
  return b.call_all("aten.max_pool2d_with_indices.default", {call["self"], window->kernel, window->kernel});
}

}  // namespace

std::span<const OpLine> pooling_ops() {
  static constexpr OpLine lines[] = {
      {"aten.avg_pool2d.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
       "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       kernel("avg_pool2d.out", infer_avg_pool<2>)},
      {"aten.avg_pool1d.default(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
       "ceil_mode=False, bool count_include_pad=True) -> Tensor",
       composite(infer_avg_pool<1>, avg_pool1d)},
      {"aten.avg_pool3d.default(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
       "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       {.flags = core, .infer = infer_avg_pool<3>}},
      {"aten.max_pool2d_with_indices.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] "
       "padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
       kernel("max_pool2d_with_indices.out", infer_max_pool_with_indices<2>)},
      {"aten.max_pool3d_with_indices.default(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] "
       "padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
       {.flags = core, .infer = infer_max_pool_with_indices<3>}},
      {"aten.max_pool1d.default(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
       "int[1] dilation=[1], bool ceil_mode=False) -> Tensor",
       composite(infer_max_pool<1>, max_pool1d)},
      {"aten.max_pool2d.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
       "dilation=1, bool ceil_mode=False) -> Tensor",
       composite(infer_max_pool<2>, max_pool2d)},
      {"aten.max_pool3d.default(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
       "dilation=1, bool ceil_mode=False) -> Tensor",
       composite(infer_max_pool<3>, max_pool3d)},
      {"aten._adaptive_avg_pool2d.default(Tensor self, SymInt[2] output_size) -> Tensor",
       kernel("_adaptive_avg_pool2d.out", infer_adaptive<2>)},
      {"aten._adaptive_avg_pool3d.default(Tensor self, SymInt[3] output_size) -> Tensor",
       {.flags = core, .infer = infer_adaptive<3>}},
      {"aten.adaptive_avg_pool1d.default(Tensor self, int[1] output_size) -> Tensor",
       composite(infer_adaptive<1>, adaptive_avg_pool1d)},
      {"aten.adaptive_avg_pool2d.default(Tensor self, SymInt[2] output_size) -> Tensor",
       composite(infer_adaptive<2>, adaptive_avg_pool2d)},
      {"aten.adaptive_avg_pool3d.default(Tensor self, SymInt[3] output_size) -> Tensor",
       composite(infer_adaptive<3>, adaptive_avg_pool3d)},
      {"aten.adaptive_max_pool1d.default(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
       composite(infer_adaptive_pair<1>, adaptive_max_pool1d)},
      {"aten.adaptive_max_pool2d.default(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
       composite(infer_adaptive_pair<2>, adaptive_max_pool2d)},
  };
  return lines;
}

}  // namespace depute::internal
