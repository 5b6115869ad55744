// Kernels of views: results share the storage of the first argument, with other sizes.
//
//   aten.permute.default(f32[2, 3], [1, 0])  ->  f32[3, 2]{strides=[1, 3]}
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Sizes, strides and offset of a tensor, edited one dimension at a time.
struct Layout {
  TensorData data;
  Shape sizes;
  Shape strides;
  std::int64_t offset;

  explicit Layout(TensorData from)
      : data(std::move(from)), sizes(sizes_of(data)), strides(strides_of(data)), offset(data.offset) {}
  TensorData view() const { return with_shape(data, sizes, strides, offset); }
  void erase(std::size_t dim) {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  }
};

// --- other sizes for the same sequence of elements

Result<Shape> fill_in_size(Shape sizes, std::size_t count) {
  auto unknown = std::ranges::find(sizes, -1);
  std::int64_t position = unknown - sizes.begin();
  if (unknown != sizes.end()) *unknown = 1;
  auto known = checked_count(sizes);
  if (!known) return bad_arguments("a view has a negative size");
  if (position < static_cast<std::int64_t>(sizes.size())) {
    if (*known == 0 || count % *known != 0) return bad_arguments("the size -1 of a view cannot be inferred");
    sizes[static_cast<std::size_t>(position)] = static_cast<std::int64_t>(count / *known);
  } else if (*known != count) {
    return bad_arguments(fmt::format("a view of {} elements cannot have {}", count, *known));
  }
  return sizes;
}

// Returns strides with which `sizes` visit the same elements in the same order; nullopt if elements must
// move. Matches dimensions from the last: each dense group of old dimensions is split into new ones.
std::optional<Shape> view_strides(const Shape& old_sizes, const Shape& old_strides, const Shape& sizes) {
  Shape strides(sizes.size(), 1);
  std::size_t next = sizes.size();  // new dimensions from here on have strides
  std::size_t dim = old_sizes.size();
  while (dim > 0) {
    std::int64_t stride = old_strides[dim - 1];
    std::int64_t count = old_sizes[dim - 1];
    for (--dim; dim > 0; --dim) {
      bool joins = old_sizes[dim - 1] == 1 || count == 1 || old_strides[dim - 1] == stride * count;
      if (!joins) break;
      if (count == 1) stride = old_strides[dim - 1];
      count *= old_sizes[dim - 1];
    }
    std::int64_t covered = 1;
    while (next > 0 && (covered < count || sizes[next - 1] == 1)) {
      --next;
      strides[next] = stride * covered;
      covered *= sizes[next];
    }
    if (covered != count) return std::nullopt;
  }
  return strides;
}

Result<TensorData> reshape(const TensorData& data, const Shape& wanted) {
  TRY(Shape sizes, fill_in_size(wanted, count_of(data)));
  if (count_of(data) == 0) return with_shape(data, sizes, dense_strides(sizes), data.offset);
  if (auto strides = view_strides(sizes_of(data), strides_of(data), sizes)) {
    return with_shape(data, sizes, *strides, data.offset);
  }
  TensorData dense = data.contiguous();
  return with_shape(dense, sizes, dense_strides(sizes), dense.offset);
}

Contents one_view(Result<TensorData> view) {
  TRY(TensorData data, std::move(view));
  return one(std::move(data));
}

Contents view(const KernelCall& call) {
  return one_view(reshape(call.tensor("self"), call.ints("size")));
}
Contents reshape_to(const KernelCall& call) {
  return one_view(reshape(call.tensor("self"), call.ints("shape")));
}

Contents flatten(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  TRY(std::size_t start, checked_dim(call.integer("start_dim"), sizes.size()));
  TRY(std::size_t end, checked_dim(call.integer("end_dim"), sizes.size()));
  if (start > end) return bad_arguments("flatten: start_dim is after end_dim");
  if (sizes.empty()) return one_view(reshape(call.tensor("self"), {1}));
  while (end > start) {
    sizes[end - 1] *= sizes[end];
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(end--));
  }
  return one_view(reshape(call.tensor("self"), sizes));
}

Contents unsqueeze(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  TRY(std::size_t dim, checked_dim(call.integer("dim"), layout.sizes.size() + 1));
  auto at = static_cast<std::ptrdiff_t>(dim);
  std::int64_t stride = dim < layout.sizes.size() ? layout.sizes[dim] * layout.strides[dim] : 1;
  layout.sizes.insert(layout.sizes.begin() + at, 1);
  layout.strides.insert(layout.strides.begin() + at, stride);
  return one(layout.view());
}

// Drops the named dimensions of size 1; all dimensions of size 1 if there is no such argument.
Contents squeeze(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  std::size_t rank = layout.sizes.size();
  std::vector<bool> is_named(std::max<std::size_t>(rank, 1), !call.has("dim"));
  if (call.has("dim")) {
    for (std::int64_t wanted : call.ints("dim")) {
      TRY(std::size_t dim, checked_dim(wanted, rank));
      is_named[dim] = true;
    }
  }
  for (std::size_t dim = rank; dim-- > 0;) {
    if (is_named[dim] && layout.sizes[dim] == 1) layout.erase(dim);
  }
  return one(layout.view());
}

// --- the order of dimensions

Contents permuted(const TensorData& self, const Shape& order) {
  Layout layout(self);
  Layout result = layout;
  std::vector<bool> is_taken(order.size(), false);
  if (order.size() != layout.sizes.size()) return bad_arguments("permute must name every dimension once");
  for (std::size_t i = 0; i < order.size(); ++i) {
    TRY(std::size_t dim, checked_dim(order[i], order.size()));
    if (is_taken[dim]) return bad_arguments("permute must name every dimension once");
    is_taken[dim] = true;
    result.sizes[i] = layout.sizes[dim];
    result.strides[i] = layout.strides[dim];
  }
  return one(result.view());
}

Contents permute(const KernelCall& call) {
  return permuted(call.tensor("self"), call.ints("dims"));
}

Contents swapped(const TensorData& self, std::int64_t first, std::int64_t second) {
  TRY(std::size_t a, checked_dim(first, self.type.rank()));
  TRY(std::size_t b, checked_dim(second, self.type.rank()));
  Shape order(self.type.rank());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order[a], order[b]);
  return permuted(self, order);
}

Contents transpose(const KernelCall& call) {
  return swapped(call.tensor("self"), call.integer("dim0"), call.integer("dim1"));
}
Contents t(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  return self.type.rank() < 2 ? one(self) : swapped(self, 0, 1);
}

// --- repeated elements

Contents expand(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  Shape sizes = call.ints("size");
  if (sizes.size() < layout.sizes.size())
    return bad_arguments("expand to fewer dimensions than the tensor has");
  std::size_t lead = sizes.size() - layout.sizes.size();
  Shape strides(sizes.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t own = i < lead ? 1 : layout.sizes[i - lead];
    if (sizes[i] == -1 && i >= lead) sizes[i] = own;
    if (sizes[i] < 0 || (own != 1 && own != sizes[i])) {
      return bad_arguments(fmt::format("size {} cannot be expanded to {}", own, sizes[i]));
    }
    if (i >= lead && own == sizes[i]) strides[i] = layout.strides[i - lead];
  }
  if (!checked_count(sizes)) return bad_arguments("the expanded tensor has too many elements");
  return one(with_shape(layout.data, sizes, strides, layout.offset));
}

// --- slices

Contents slice(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  if (layout.sizes.empty()) return bad_arguments("a slice requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), layout.sizes.size()));
  std::int64_t size = layout.sizes[dim];
  auto clamped = [&](std::string_view name, std::int64_t otherwise) {
    std::int64_t bound = call.is_none(name) ? otherwise : call.integer(name);
    return std::clamp<std::int64_t>(bound < 0 ? bound + size : bound, 0, size);
  };
  std::int64_t start = clamped("start", 0);
  std::int64_t end = std::max(start, clamped("end", size));
  std::int64_t step = call.integer("step");
  if (step < 1) return bad_arguments("the step of a slice must be positive");
  std::int64_t count = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  layout.offset += count == 0 ? 0 : start * layout.strides[dim];
  layout.sizes[dim] = count;
  layout.strides[dim] *= count <= 1 ? 1 : step;
  return one(layout.view());
}

Contents narrow(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  TRY(std::size_t dim, checked_dim(call.integer("dim"), layout.sizes.size()));
  if (layout.sizes.empty()) return bad_arguments("a slice requires a tensor of rank 1 or more");
  std::int64_t start = call.integer("start");
  std::int64_t length = call.integer("length");
  if (start < 0) start += layout.sizes[dim];
  if (start < 0 || length < 0 || start > layout.sizes[dim] || length > layout.sizes[dim] - start) {
    return bad_arguments(
        fmt::format("{} elements from index {} exceed size {}", length, start, layout.sizes[dim]));
  }
  layout.offset += length == 0 ? 0 : start * layout.strides[dim];
  layout.sizes[dim] = length;
  return one(layout.view());
}

Contents select(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  if (layout.sizes.empty()) return bad_arguments("select requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), layout.sizes.size()));
  std::int64_t index = call.integer("index");
  std::int64_t size = layout.sizes[dim];
  if (index < -size || index >= size)
    return bad_arguments(fmt::format("index {} is out of range for size {}", index, size));
  layout.offset += (index < 0 ? index + size : index) * layout.strides[dim];
  layout.erase(dim);
  return one(layout.view());
}

// Splits a dimension into consecutive parts of these lengths, which must cover it.
Contents parts(const TensorData& self, std::int64_t wanted_dim, const Shape& lengths) {
  Layout layout(self);
  if (layout.sizes.empty()) return bad_arguments("a split requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(wanted_dim, layout.sizes.size()));
  std::vector<RuntimeValue> results;
  std::int64_t left = layout.sizes[dim];
  for (std::int64_t length : lengths) {
    if (length < 0 || length > left)
      return bad_arguments("the split sizes do not sum to the size of the dimension");
    Layout part = layout;
    part.offset += length == 0 ? 0 : (layout.sizes[dim] - left) * layout.strides[dim];
    part.sizes[dim] = length;
    results.emplace_back(part.view());
    left -= length;
  }
  if (left != 0) return bad_arguments("the split sizes do not sum to the size of the dimension");
  return results;
}

Contents split_with_sizes(const KernelCall& call) {
  return parts(call.tensor("self"), call.integer("dim"), call.ints("split_sizes"));
}
Contents split_sizes(const KernelCall& call) {
  return parts(call.tensor("self"), call.integer("dim"), call.ints("split_size"));
}

// Splits into parts of `length`, the last one shorter; an empty dimension becomes one empty part.
Contents equal_parts(const KernelCall& call, std::int64_t length, std::size_t dim) {
  std::int64_t left = sizes_of(call.tensor("self"))[dim];
  if (length < 1 && left > 0) return bad_arguments("the split size must be 1 or more");
  Shape lengths;
  do {
    lengths.push_back(std::min(length, left));
    left -= lengths.back();
  } while (left > 0);
  return parts(call.tensor("self"), static_cast<std::int64_t>(dim), lengths);
}

Contents split(const KernelCall& call) {
  TRY(std::size_t dim, checked_dim(call.integer("dim"), call.tensor("self").type.rank()));
  if (call.tensor("self").type.rank() == 0)
    return bad_arguments("a split requires a tensor of rank 1 or more");
  return equal_parts(call, call.integer("split_size"), dim);
}

Contents chunk(const KernelCall& call) {
  TRY(std::size_t dim, checked_dim(call.integer("dim"), call.tensor("self").type.rank()));
  if (call.tensor("self").type.rank() == 0)
    return bad_arguments("a split requires a tensor of rank 1 or more");
  std::int64_t chunks = call.integer("chunks");
  if (chunks < 1) return bad_arguments("a split requires 1 part or more");
  std::int64_t size = sizes_of(call.tensor("self"))[dim];
  return equal_parts(call, size / chunks + (size % chunks != 0 ? 1 : 0), dim);
}

Contents unbind(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  if (layout.sizes.empty()) return bad_arguments("a split requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), layout.sizes.size()));
  std::vector<RuntimeValue> results;
  Layout part = layout;
  part.erase(dim);
  for (std::int64_t i = 0; i < layout.sizes[dim]; ++i) {
    results.emplace_back(part.view());
    part.offset += layout.strides[dim];
  }
  return results;
}

// --- other walks over a storage

Contents as_strided(const KernelCall& call) {
  TensorData self = call.tensor("self").contiguous();
  Shape sizes = call.ints("size");
  Shape strides = call.ints("stride");
  if (sizes.size() != strides.size()) return bad_arguments("the numbers of strides and of sizes differ");
  std::int64_t offset = call.is_none("storage_offset") ? 0 : call.integer("storage_offset");
  if (!checked_count(sizes)) return bad_arguments("a view has a negative size");
  TensorData result = with_shape(self, sizes, strides, self.offset);
  if (offset < 0 || __builtin_add_overflow(result.offset, offset, &result.offset) || !fits_storage(result)) {
    return bad_arguments("the view reads elements outside of the tensor's memory");
  }
  return one(std::move(result));
}

Contents unfold(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  if (layout.sizes.empty()) return bad_arguments("unfold requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(call.integer("dimension"), layout.sizes.size()));
  std::int64_t window = call.integer("size");
  std::int64_t step = call.integer("step");
  if (window < 0 || window > layout.sizes[dim] || step < 1)
    return bad_arguments("the window of unfold is larger than the dimension");
  layout.sizes.push_back(window);
  layout.strides.push_back(layout.strides[dim]);
  layout.sizes[dim] = (layout.sizes[dim] - window) / step + 1;
  layout.strides[dim] *= layout.sizes[dim] <= 1 ? 1 : step;
  return one(layout.view());
}

Contents diagonal(const KernelCall& call) {
  Layout layout(call.tensor("self"));
  TRY(std::size_t row, checked_dim(call.integer("dim1"), layout.sizes.size()));
  TRY(std::size_t column, checked_dim(call.integer("dim2"), layout.sizes.size()));
  if (row == column || layout.sizes.size() < 2)
    return bad_arguments("a diagonal requires two different dimensions");
  std::int64_t shift = call.integer("offset");
  std::int64_t first_row = shift < 0 ? std::min(layout.sizes[row], -std::max(shift, -layout.sizes[row])) : 0;
  std::int64_t first_column = std::clamp<std::int64_t>(shift, 0, layout.sizes[column]);
  std::int64_t count = std::min(layout.sizes[row] - first_row, layout.sizes[column] - first_column);
  std::int64_t stride = layout.strides[row] + layout.strides[column];
  if (count > 0) layout.offset += first_row * layout.strides[row] + first_column * layout.strides[column];
  layout.erase(std::max(row, column));
  layout.erase(std::min(row, column));
  layout.sizes.push_back(count);
  layout.strides.push_back(stride);
  return one(layout.view());
}

}  // namespace

std::span<const KernelLine> view_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.view.default", view},
      {"aten._unsafe_view.default", view},
      {"aten.reshape.default", reshape_to},
      {"aten.flatten.using_ints", flatten},
      {"aten.unsqueeze.default", unsqueeze},
      {"aten.squeeze.default", squeeze},
      {"aten.squeeze.dim", squeeze},
      {"aten.squeeze.dims", squeeze},
      {"aten.permute.default", permute},
      {"aten.transpose.int", transpose},
      {"aten.t.default", t},
      {"aten.expand.default", expand},
      {"aten.slice.Tensor", slice},
      {"aten.narrow.default", narrow},
      {"aten.select.int", select},
      {"aten.split_with_sizes.default", split_with_sizes},
      {"aten.split.sizes", split_sizes},
      {"aten.split.Tensor", split},
      {"aten.chunk.default", chunk},
      {"aten.unbind.int", unbind},
      {"aten.as_strided.default", as_strided},
      {"aten.unfold.default", unfold},
      {"aten.diagonal.default", diagonal},
  };
  return lines;
}

}  // namespace depute::internal
