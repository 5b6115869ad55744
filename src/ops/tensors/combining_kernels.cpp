// Kernels that move elements of one or several tensors: joining, padding, repeating, rolling.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- joining

// Joins tensors of one element type along `dim`; their other sizes must be equal.
Contents joined(const KernelCall& call, std::vector<TensorData> parts, std::size_t dim) {
  Shape sizes = sizes_of(parts.front());
  sizes[dim] = 0;
  for (TensorData& part : parts) {
    TRY(part, cast(call, part, call.result_type()));
    Shape own = sizes_of(part);
    if (own.size() != sizes.size()) return bad_arguments("the tensors must have the same rank");
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i != dim && own[i] != sizes[i]) {
        return bad_arguments(fmt::format("the sizes {} and {} differ", sizes[i], own[i]));
      }
    }
    sizes[dim] += own[dim];
  }
  ScalarType dtype = call.result_type();
  return one(call.dense(dtype, sizes, [parts = std::move(parts), sizes, dim, dtype] {
    std::vector<std::byte> bytes(*checked_count(sizes) * item_size(dtype));
    Shape strides = dense_strides(sizes);
    std::int64_t offset = 0;
    for (const TensorData& part : parts) {
      copy_elements(part, bytes, offset, strides);
      offset += sizes_of(part)[dim] * strides[dim];
    }
    return bytes;
  }));
}

// Ignores tensors of shape [0], whatever the rank of the others.
Contents cat(const KernelCall& call) {
  std::vector<TensorData> parts = call.tensors("tensors");
  if (parts.empty()) return bad_arguments("at least one tensor is required");
  TensorData first = parts.front();
  std::erase_if(parts, [](const TensorData& part) { return part.type.sizes == Dims{0}; });
  if (parts.empty()) parts.push_back(first);
  if (parts.front().type.rank() == 0) return bad_arguments("tensors of rank 1 or more are required");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), parts.front().type.rank()));
  return joined(call, std::move(parts), dim);
}

Contents stack(const KernelCall& call) {
  std::vector<TensorData> parts = call.tensors("tensors");
  if (parts.empty()) return bad_arguments("at least one tensor is required");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), parts.front().type.rank() + 1));
  for (TensorData& part : parts) {
    Shape sizes = sizes_of(part);
    Shape strides = strides_of(part);
    if (sizes.size() < dim) return bad_arguments("the tensors must have the same rank");
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), 1);
    strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(dim), 0);
    part = with_shape(part, sizes, strides, part.offset);
  }
  return joined(call, std::move(parts), dim);
}

// --- padding

// The part of a padded dimension that holds elements of the tensor.
struct PaddedDim {
  std::int64_t before = 0;  // positions added in front; negative: elements removed
  std::int64_t size = 0;    // size of the padded dimension
};

// `pad` has two numbers per dimension, starting with the last dimension.
Result<std::vector<PaddedDim>> padded_windows(const Shape& sizes, const Shape& pad) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > sizes.size())
    return bad_arguments("the padding has more dimensions than the tensor");
  std::vector<PaddedDim> windows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::size_t from_last = sizes.size() - 1 - i;
    PaddedDim window{0, sizes[i]};
    if (2 * from_last < pad.size()) {
      std::int64_t after = pad[2 * from_last + 1];
      window.before = pad[2 * from_last];
      bool overflows = __builtin_add_overflow(window.size, window.before, &window.size) ||
                       __builtin_add_overflow(window.size, after, &window.size);
      if (overflows || window.size < 0)
        return bad_arguments("negative padding removes more elements than the dimension has");
    }
    windows.push_back(window);
  }
  return windows;
}

Contents constant_pad(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  TRY(std::vector<PaddedDim> windows, padded_windows(sizes_of(self), call.ints("pad")));
  TRY(TensorData fill, cast(call, call.operand("value"), self.type.dtype));
  Shape sizes, kept = sizes_of(self), strides = strides_of(self);
  for (const PaddedDim& window : windows) sizes.push_back(window.size);
  if (!checked_count(sizes)) return bad_arguments("the padded tensor has too many elements");
  Shape out_strides = dense_strides(sizes);
  std::int64_t from = self.offset;
  std::int64_t to = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::int64_t skipped = std::max<std::int64_t>(-windows[i].before, 0);
    std::int64_t start = std::max<std::int64_t>(windows[i].before, 0);
    kept[i] = std::max<std::int64_t>(std::min(kept[i] - skipped, sizes[i] - start), 0);
    from += skipped * strides[i];
    to += start * out_strides[i];
  }
  TensorData inside = with_shape(self, kept, strides, from);
  return one(call.dense(self.type.dtype, sizes, [inside, fill, sizes, to, out_strides] {
    std::size_t item = item_size(fill.type.dtype);
    std::vector<std::byte> bytes(*checked_count(sizes) * item);
    std::span<const std::byte> element = fill.dense_bytes();
    bool is_zero = std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; });
    for (std::size_t i = 0; !is_zero && i < bytes.size(); i += item) {
      std::memcpy(bytes.data() + i, element.data(), item);
    }
    if (count_of(inside) > 0) copy_elements(inside, bytes, to, out_strides);
    return bytes;
  }));
}

// Returns the source index of a position in a padded dimension.
using Source = std::int64_t (*)(std::int64_t place, std::int64_t size);

std::int64_t reflected(std::int64_t place, std::int64_t size) {
  if (place < 0) place = -place;
  return place >= size ? 2 * (size - 1) - place : place;
}
std::int64_t nearest(std::int64_t place, std::int64_t size) {
  return std::clamp<std::int64_t>(place, 0, size - 1);
}

// Returns the elements at sources[position] of dimension `dim`, for all positions.
TensorData taken(const TensorData& data, std::size_t dim, const Shape& sources) {
  Shape sizes = sizes_of(data);
  sizes[dim] = static_cast<std::int64_t>(sources.size());
  TensorData result;
  result.type = make_tensor(data.type.dtype, as_dims(sizes));
  result.storage = Storage::lazy(result.byte_size(), [data, dim, sources, sizes] {
    std::vector<std::byte> bytes(*checked_count(sizes) * item_size(data.type.dtype));
    Shape strides = dense_strides(sizes);
    Shape from_strides = strides_of(data);
    Shape one_place = sizes_of(data);
    one_place[dim] = 1;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      std::int64_t position = data.offset + sources[i] * from_strides[dim];
      copy_elements(with_shape(data, one_place, from_strides, position), bytes,
                    static_cast<std::int64_t>(i) * strides[dim], strides);
    }
    return bytes;
  });
  return result;
}

template <Source source>
Contents edge_pad(const KernelCall& call) {
  TensorData data = call.tensor("self");
  TRY(std::vector<PaddedDim> windows, padded_windows(sizes_of(data), call.ints("padding")));
  Shape sizes;
  for (const PaddedDim& window : windows) sizes.push_back(window.size);
  if (!checked_count(sizes)) return bad_arguments("the padded tensor has too many elements");
  for (std::size_t dim = 0; dim < windows.size(); ++dim) {
    std::int64_t size = data.type.sizes[dim].value();
    if (windows[dim].before == 0 && windows[dim].size == size) continue;
    Shape sources;
    for (std::int64_t place = 0; place < windows[dim].size; ++place) {
      std::int64_t from = source(place - windows[dim].before, size);
      if (from < 0 || from >= size) return bad_arguments("the padding is wider than the tensor");
      sources.push_back(from);
    }
    data = taken(data, dim, sources);
  }
  return one(std::move(data));
}

// --- repeating and rolling

// Views each dimension as a pair: the repeats, with stride 0, and its own elements.
Contents repeat(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  Shape repeats = call.ints("repeats");
  Shape own = sizes_of(self);
  Shape own_strides = strides_of(self);
  if (repeats.size() < own.size()) return bad_arguments("repeat requires at least one value per dimension");
  std::size_t lead = repeats.size() - own.size();
  Shape sizes, pairs, strides;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    std::int64_t size = i < lead ? 1 : own[i - lead];
    std::int64_t repeated = 0;
    if (repeats[i] < 0 || __builtin_mul_overflow(size, repeats[i], &repeated)) {
      return bad_arguments("the number of repeats must not be negative");
    }
    sizes.push_back(repeated);
    pairs.insert(pairs.end(), {repeats[i], size});
    strides.insert(strides.end(), {0, i < lead ? 0 : own_strides[i - lead]});
  }
  TensorData walk;
  walk.offset = self.offset;
  walk.storage = self.storage;
  walk.type = {self.type.dtype, as_dims(pairs), as_dims(strides)};
  return one(call.dense(self.type.dtype, sizes, [walk, pairs, sizes] {
    std::vector<std::byte> bytes(*checked_count(sizes) * item_size(walk.type.dtype));
    copy_elements(walk, bytes, 0, dense_strides(pairs));
    return bytes;
  }));
}

Contents flip(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  Shape sizes = sizes_of(self);
  Shape out_strides = dense_strides(sizes);
  std::int64_t first = 0;
  for (std::int64_t wanted : call.ints("dims")) {
    TRY(std::size_t dim, checked_dim(wanted, sizes.size()));
    if (sizes.empty() || out_strides[dim] < 0) continue;
    first += std::max<std::int64_t>(sizes[dim] - 1, 0) * out_strides[dim];
    out_strides[dim] = -out_strides[dim];
  }
  return one(call.dense(self.type.dtype, sizes, [self, first, out_strides] {
    std::vector<std::byte> bytes(self.byte_size());
    copy_elements(self, bytes, first, out_strides);
    return bytes;
  }));
}

Contents roll(const KernelCall& call) {
  TensorData data = call.tensor("self");
  Shape shifts = call.ints("shifts");
  Shape dims = call.ints("dims");
  Shape sizes = sizes_of(data);
  if (dims.empty() && shifts.size() == 1) {  // roll the flattened tensor
    TensorData dense = data.contiguous();
    data = with_shape(dense, {static_cast<std::int64_t>(count_of(data))}, {1}, dense.offset);
    dims.push_back(0);
  }
  if (dims.size() != shifts.size()) return bad_arguments("the numbers of shifts and of dims differ");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    TRY(std::size_t dim, checked_dim(dims[i], data.type.rank()));
    std::int64_t size = data.type.sizes[dim].value();
    Shape sources;
    for (std::int64_t place = 0; place < size; ++place) {
      sources.push_back(((place - shifts[i] % size) % size + size) % size);
    }
    data = taken(data, dim, sources);
  }
  if (data.type.rank() != sizes.size()) data = with_shape(data, sizes, dense_strides(sizes), data.offset);
  return one(std::move(data));
}

// --- writing into a slice

// Returns `self` with `source` written into a view of it. The view's strides assume that self is contiguous.
Contents overwritten(const KernelCall& call, const Shape& part_sizes, const Shape& part_strides,
                     std::int64_t offset) {
  const TensorData& self = call.tensor("self");
  TRY(TensorData source, cast(call, call.tensor("src"), self.type.dtype));
  if (sizes_of(source) != part_sizes)
    return bad_arguments("the source does not match the sizes of the destination slice");
  return one(call.dense(self.type.dtype, sizes_of(self), [self, source, part_strides, offset] {
    std::vector<std::byte> bytes(self.byte_size());
    copy_elements(self, bytes, 0, dense_strides(sizes_of(self)));
    if (count_of(source) > 0) copy_elements(source, bytes, offset, part_strides);
    return bytes;
  }));
}

Contents slice_scatter(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  Shape strides = dense_strides(sizes);
  if (sizes.empty()) return bad_arguments("a slice requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), sizes.size()));
  auto clamped = [&](std::string_view name, std::int64_t otherwise) {
    std::int64_t bound = call.is_none(name) ? otherwise : call.integer(name);
    return std::clamp<std::int64_t>(bound < 0 ? bound + sizes[dim] : bound, 0, sizes[dim]);
  };
  std::int64_t start = clamped("start", 0);
  std::int64_t end = std::max(start, clamped("end", sizes[dim]));
  std::int64_t step = call.integer("step");
  if (step < 1) return bad_arguments("the step of a slice must be positive");
  std::int64_t offset = start * strides[dim];
  sizes[dim] = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  strides[dim] *= sizes[dim] <= 1 ? 1 : step;
  return overwritten(call, sizes, strides, offset);
}

Contents select_scatter(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  Shape strides = dense_strides(sizes);
  if (sizes.empty()) return bad_arguments("select requires a tensor of rank 1 or more");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), sizes.size()));
  std::int64_t index = call.integer("index");
  if (index < -sizes[dim] || index >= sizes[dim]) {
    return bad_arguments(fmt::format("index {} is out of range for size {}", index, sizes[dim]));
  }
  std::int64_t offset = (index < 0 ? index + sizes[dim] : index) * strides[dim];
  auto at = static_cast<std::ptrdiff_t>(dim);
  sizes.erase(sizes.begin() + at);
  strides.erase(strides.begin() + at);
  return overwritten(call, sizes, strides, offset);
}

// --- triangles

enum class Triangle : std::uint8_t { Lower, Upper };

template <Triangle side>
Contents triangle(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  Shape sizes = sizes_of(self);
  if (sizes.size() < 2) return bad_arguments("tril and triu require a tensor of rank 2 or more");
  std::int64_t diagonal =
      std::clamp(call.integer("diagonal"), -(std::int64_t{1} << 60), std::int64_t{1} << 60);
  return one(call.dense(self.type.dtype, sizes, [self, sizes, diagonal] {
    std::vector<std::byte> bytes(self.byte_size());
    copy_elements(self, bytes, 0, dense_strides(sizes));
    auto item = static_cast<std::int64_t>(item_size(self.type.dtype));
    std::int64_t rows = sizes[sizes.size() - 2];
    std::int64_t columns = sizes.back();
    auto count = static_cast<std::int64_t>(count_of(self));
    for (std::int64_t row = 0; columns > 0 && row * columns < count; ++row) {
      std::int64_t split =
          std::clamp<std::int64_t>(row % rows + diagonal + (side == Triangle::Lower ? 1 : 0), 0, columns);
      std::int64_t from = side == Triangle::Lower ? split : 0;
      std::int64_t to = side == Triangle::Lower ? columns : split;
      std::memset(bytes.data() + (row * columns + from) * item, 0,
                  static_cast<std::size_t>((to - from) * item));
    }
    return bytes;
  }));
}

}  // namespace

std::span<const KernelLine> combining_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.cat.default", cat},
      {"aten.stack.default", stack},
      {"aten.constant_pad_nd.default", constant_pad},
      {"aten.reflection_pad1d.default", edge_pad<reflected>},
      {"aten.reflection_pad2d.default", edge_pad<reflected>},
      {"aten.reflection_pad3d.default", edge_pad<reflected>},
      {"aten.replication_pad1d.default", edge_pad<nearest>},
      {"aten.replication_pad2d.default", edge_pad<nearest>},
      {"aten.replication_pad3d.default", edge_pad<nearest>},
      {"aten.repeat.default", repeat},
      {"aten.flip.default", flip},
      {"aten.roll.default", roll},
      {"aten.slice_scatter.default", slice_scatter},
      {"aten.select_scatter.default", select_scatter},
      {"aten.tril.default", triangle<Triangle::Lower>},
      {"aten.triu.default", triangle<Triangle::Upper>},
  };
  return lines;
}

}  // namespace depute::internal
