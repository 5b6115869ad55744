// XNNPACK averages two dimensions before the last one and takes maxima of windows over height and width; it
// has no other reductions. Over the last dimension, a product with a column of weights is faster.
#include "reductions.h"

#include <algorithm>

#include "node_query.h"

namespace depute::xnnpack {
namespace {

// Multiplies the last dimension by a column of `weight`; its size becomes 1.
ValueId weigh_last(Emitter& emit, ValueId x, double weight) {
  Dims result = emit.sizes(x);
  const ValueId column = emit.constant(filled(emit.dtype(x), {1, result.back()}, weight));
  result.back() = 1;
  return emit.add_sized(NodeKind::FullyConnected, {x, column, no_value}, result);
}

// Averages one or two dimensions. XNNPACK needs two, followed by another one. A dimension of size 1 is added
// behind a single dimension, and the following dimensions are merged if their sizes are known.
ValueId average(Emitter& emit, ValueId x, const std::vector<std::uint32_t>& dims) {
  Dims sizes = emit.sizes(x);
  Axes axes{.dims = dims};
  if (dims.size() == 1) {
    axes.dims = {dims[0], dims[0] + 1};
    const auto behind = sizes.begin() + dims[0] + 1;
    if (symbolic_count(Dims(behind, sizes.end())) == 0) {
      const SymInt count = product(std::vector<SymInt>(behind, sizes.end()));
      sizes.erase(behind, sizes.end());
      sizes.push_back(1);
      sizes.push_back(count);
    } else {
      sizes.insert(behind, SymInt(1));
    }
  }
  if (sizes.size() == 2) sizes.push_back(1);
  if (sizes.size() > max_rank) {  // merges the leading dimensions
    const auto end = sizes.begin() + axes.dims[0];
    const SymInt front = product(std::vector<SymInt>(sizes.begin(), end));
    sizes.erase(sizes.begin(), end);
    sizes.insert(sizes.begin(), front);
    axes.dims = {1, 2};
  }
  x = emit.reshape(x, sizes);
  for (std::uint32_t dim : axes.dims) sizes[dim] = 1;
  return emit.add_sized(NodeKind::GlobalAvgPooling2d, {x}, sizes, std::move(axes));
}

// Maximum over h and w of [n, c, h, w].
ValueId pool_image(Emitter& emit, ValueId x) {
  Dims sizes = emit.sizes(x);
  Window window;
  window.kernel = {static_cast<std::uint32_t>(sizes[2].value()),
                   static_cast<std::uint32_t>(sizes[3].value())};
  window.stride = window.kernel;
  sizes[2] = 1;
  sizes[3] = 1;
  return emit.add_sized(NodeKind::MaxPooling2d, {x}, sizes, window);
}

}  // namespace

bool is_last_alone(const std::vector<std::uint32_t>& dims, const Dims& sizes) {
  return dims.size() == 1 && dims[0] + 1 == sizes.size() && sizes.back().is_constant();
}

ValueId reduce_mean(Emitter& emit, ValueId x, std::vector<std::uint32_t> dims) {
  const Dims sizes = emit.sizes(x);
  if (dims.empty()) return x;
  if (is_last_alone(dims, sizes)) return weigh_last(emit, x, 1 / static_cast<double>(sizes.back().value()));
  std::vector<std::uint32_t> rest;
  if (dims.size() > 2) rest.assign(dims.begin(), dims.end() - 2);
  std::vector<std::uint32_t> last(
      dims.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(dims.size(), 2)), dims.end());
  Dims kept = sizes;
  for (std::uint32_t dim : last) kept[dim] = 1;
  x = emit.reshape(average(emit, x, last), kept);
  return reduce_mean(emit, x, std::move(rest));
}

ValueId reduce_sum(Emitter& emit, ValueId x, const std::vector<std::uint32_t>& dims) {
  if (is_last_alone(dims, emit.sizes(x))) return weigh_last(emit, x, 1);
  double count = 1;
  for (std::uint32_t dim : dims) count *= static_cast<double>(emit.sizes(x)[dim].value());
  const ValueId mean = reduce_mean(emit, x, dims);
  return count == 1 ? mean : emit.add(NodeKind::Multiply, {mean, emit.number(count, mean)});
}

ValueId reduce_max(Emitter& emit, ValueId x, std::uint32_t first, std::uint32_t last) {
  const Dims sizes = emit.sizes(x);
  Dims reduced = sizes;
  for (std::uint32_t dim = first; dim <= last; ++dim) reduced[dim] = 1;
  if (sizes.size() == 4 && first == 2 && last == 3) return pool_image(emit, x);
  const SymInt outer = product(std::vector<SymInt>(sizes.begin(), sizes.begin() + first));
  const SymInt inner = product(std::vector<SymInt>(sizes.begin() + last + 1, sizes.end()));
  const SymInt width = last == first ? SymInt(1) : sizes[last];
  // [outer, height, width, inner] is an NHWC image with `inner` as channels.
  const ValueId image = emit.permute(emit.reshape(x, {outer, sizes[first], width, inner}), {0, 3, 1, 2});
  return emit.reshape(pool_image(emit, image), reduced);
}

}  // namespace depute::xnnpack
