#include "ops/layers/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t max_window = std::int64_t{1} << 30;

// Returns a list with one number per pooled dimension; a single number applies to all, an empty list gives
// `otherwise`.
Result<Ints> per_dimension(const OpCall& call, std::string_view name, std::size_t count,
                           Ints otherwise = {}) {
  if (!call.is_constant_ints(name)) return type_error(fmt::format("'{}' must be constant", name));
  Ints values = call.ints(name);
  if (values.empty()) values = std::move(otherwise);
  for (std::int64_t value : values) {
    if (value < 0 || value > max_window)
      return argument_error(fmt::format("'{}' has the value {}, which is out of range", name, value));
  }
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() == count) return values;
  return argument_error(
      fmt::format("'{}' has {} values for {} spatial dimensions", name, values.size(), count));
}

Result<SymInt> pooled_size(const SymInt& size, const PoolWindow& w, std::size_t i) {
  std::int64_t stride = w.stride[i], padding = w.padding[i];
  if (stride <= 0 || w.kernel[i] <= 0)
    return argument_error("a pooling window and its stride must be positive");
  SymInt span = size + (2 * padding - w.dilation[i] * (w.kernel[i] - 1) - 1);
  if (!w.ceil_mode) return floor_div(span, stride) + 1;
  SymInt count = floor_div(span + (stride - 1), stride) + 1;
  // A window may not start in the padding at the end; the first test finds windows that cannot.
  if (padding + stride < w.dilation[i] * (w.kernel[i] - 1) + 2) return count;
  return sym_min(count, floor_div(size + (padding - 1), stride) + 1);
}

}  // namespace

Result<PoolWindow> read_pool_window(const OpCall& call, std::size_t count, bool has_dilation) {
  PoolWindow w;
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

Result<Dims> pooled_sizes(const TensorType& self, const PoolWindow& w) {
  std::size_t count = w.kernel.size();
  if (self.rank() != count + 1 && self.rank() != count + 2) {
    return argument_error(fmt::format("pooling over {} dimensions is not possible for a tensor of rank {}",
                                      count, self.rank()));
  }
  Dims sizes = self.sizes;
  for (std::size_t i = 0; i < count; ++i) {
    SymInt& size = sizes[self.rank() - count + i];
    TRY(size, pooled_size(size, w, i));
    if (size.is_constant() && size.value() <= 0)
      return argument_error("the pooling window is larger than the padded input");
  }
  return sizes;
}

Result<Dims> read_output_size(const OpCall& call, std::size_t count) {
  Dims wanted = as_dims(call["output_size"]);
  if (wanted.size() == count) return wanted;
  return argument_error(
      fmt::format("'output_size' has {} values for {} spatial dimensions", wanted.size(), count));
}

Types infer_adaptive_of(const OpCall& call, std::size_t count) {
  const TensorType& self = call.tensor("self");
  TRY(Dims wanted, read_output_size(call, count));
  if (self.rank() < count + 1) {
    return argument_error(fmt::format("pooling over {} dimensions is not possible for a tensor of rank {}",
                                      count, self.rank()));
  }
  Dims sizes = self.sizes;
  std::copy(wanted.begin(), wanted.end(), sizes.end() - static_cast<std::ptrdiff_t>(count));
  return tensor_result(self.dtype, std::move(sizes));
}

}  // namespace depute::internal
