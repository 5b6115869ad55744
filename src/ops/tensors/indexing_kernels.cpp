// Kernels that read or write elements at the positions in an index tensor.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/kernel_call.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Wraps an index into a dimension; negative ones count from the end.
Result<std::int64_t> checked_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size)
    return bad_arguments(fmt::format("index {} is out of range for size {}", index, size));
  return index < 0 ? index + size : index;
}

Status check_indices(const TensorData& indices) {
  TRY(Domain domain, domain_of(indices.type.dtype));
  if (domain != Domain::Int) return bad_arguments("indices must be integers");
  return {};
}

// --- index and index_put: a list of index tensors for some of the dimensions

// The positions that index tensors select: offsets from a tensor's start, and the place of the index sizes in
// the result.
struct Places {
  std::vector<std::int64_t> offsets;  // one per element of the broadcast indices
  Shape index_sizes;
  Shape kept_sizes;  // dimensions without an index
  Shape kept_strides;
  std::size_t at = 0;  // position of index_sizes in the result

  // Returns the sizes of the result: index_sizes inserted into kept_sizes.
  Shape sizes() const {
    Shape joined = kept_sizes;
    joined.insert(joined.begin() + static_cast<std::ptrdiff_t>(at), index_sizes.begin(), index_sizes.end());
    return joined;
  }
  // Like sizes(), with all index dimensions flattened to one.
  Shape flat_sizes() const {
    Shape joined = kept_sizes;
    joined.insert(joined.begin() + static_cast<std::ptrdiff_t>(at),
                  static_cast<std::int64_t>(offsets.size()));
    return joined;
  }
};

// Returns the positions of the true elements of a mask: one index tensor per dimension.
std::vector<TensorData> indices_of_mask(const TensorData& mask) {
  Elements<std::int64_t> truths(mask);
  Shape sizes = sizes_of(mask);
  std::vector<std::vector<std::int64_t>> places(sizes.size());
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] == 0) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim])
      places[dim].push_back(rest % sizes[dim]);
  }
  std::vector<TensorData> indices;
  for (const auto& list : places) {
    indices.push_back(
        make_data<std::int64_t>(ScalarType::I64, {static_cast<std::int64_t>(list.size())}, list));
  }
  return indices;
}

// Returns one entry per dimension of `self`: its indices, or nullopt.
Result<std::vector<std::optional<TensorData>>> indices_by_dim(const KernelCall& call, const Shape& sizes) {
  std::vector<std::optional<TensorData>> by_dim;
  for (std::optional<TensorData>& index : call.optional_tensors("indices")) {
    if (!index || index->type.dtype != ScalarType::Bool) {
      by_dim.push_back(std::move(index));
      continue;
    }
    Shape own = sizes_of(*index);
    if (own.empty() || by_dim.size() + own.size() > sizes.size() ||
        !std::equal(own.begin(), own.end(), sizes.begin() + static_cast<std::ptrdiff_t>(by_dim.size()))) {
      return bad_arguments("the mask does not match the tensor");
    }
    for (TensorData& places : indices_of_mask(*index)) by_dim.emplace_back(std::move(places));
  }
  if (by_dim.size() > sizes.size()) return bad_arguments("more indices than the tensor has dimensions");
  by_dim.resize(sizes.size());
  return by_dim;
}

Result<Places> find_places(const KernelCall& call, const Shape& sizes, const Shape& strides) {
  TRY(auto by_dim, indices_by_dim(call, sizes));
  Places places;
  std::size_t groups = 0;  // groups of adjacent dimensions with indices
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (!by_dim[dim]) {
      places.kept_sizes.push_back(sizes[dim]);
      places.kept_strides.push_back(strides[dim]);
      continue;
    }
    TRY_STATUS(check_indices(*by_dim[dim]));
    TRY(places.index_sizes, broadcast_sizes(places.index_sizes, sizes_of(*by_dim[dim])));
    if (dim == 0 || !by_dim[dim - 1]) {
      if (++groups == 1) places.at = places.kept_sizes.size();
    }
  }
  if (groups == 0) return bad_arguments("no indices");
  if (groups > 1) places.at = 0;
  auto count = checked_count(places.index_sizes);
  if (!count || *count * sizeof(std::int64_t) > max_kernel_result_bytes)
    return bad_arguments("too many indices");
  places.offsets.assign(*count, 0);
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (!by_dim[dim]) continue;
    Elements<std::int64_t> indices(broadcast_to(*by_dim[dim], places.index_sizes));
    for (std::size_t i = 0; i < *count; ++i) {
      TRY(std::int64_t index, checked_index(indices[i], sizes[dim]));
      places.offsets[i] += index * strides[dim];
    }
  }
  return places;
}

// Copies the elements of `self` at the positions to `bytes`, contiguous in flat_sizes().
void copy_places(const TensorData& self, const Places& places, std::span<std::byte> bytes) {
  Shape strides = dense_strides(places.flat_sizes());
  std::int64_t step = strides[places.at];
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(places.at));
  for (std::size_t i = 0; i < places.offsets.size(); ++i) {
    TensorData part =
        with_shape(self, places.kept_sizes, places.kept_strides, self.offset + places.offsets[i]);
    copy_elements(part, bytes, static_cast<std::int64_t>(i) * step, strides);
  }
}

void copy_single_elements(const TensorData& self, const Places& places, std::span<std::byte> bytes) {
  StorageBytes storage(self.storage);
  std::size_t item = item_size(self.type.dtype);
  std::byte* out = bytes.data();
  for (std::int64_t offset : places.offsets) {
    std::memcpy(out, storage.span().data() + static_cast<std::size_t>(self.offset + offset) * item, item);
    out += item;
  }
}

// Returns the elements of `self` at the positions.
Result<RuntimeValue> gathered(const KernelCall& call, const TensorData& self, Places places) {
  Shape sizes = places.sizes();
  return call.dense(self.type.dtype, sizes, [self, places = std::move(places)] {
    std::vector<std::byte> bytes(checked_count(places.flat_sizes()).value_or(0) * item_size(self.type.dtype));
    if (places.kept_sizes.empty()) {
      copy_single_elements(self, places, bytes);
    } else {
      copy_places(self, places, bytes);
    }
    return bytes;
  });
}

Contents index(const KernelCall& call) {
  TensorData self = call.tensor("self");
  TRY(Places places, find_places(call, sizes_of(self), strides_of(self)));
  return one(gathered(call, self, std::move(places)));
}

// --- writing at offsets

enum class Write : std::uint8_t { Replace, Add };

// Returns `self` with source[i] written at (or added to) element targets[i], in order.
Contents written(const KernelCall& call, std::vector<std::int64_t> targets, TensorData source, Write mode) {
  TensorData self = call.tensor("self");
  TRY(Domain domain, domain_of(self.type.dtype));
  TRY_STATUS(check_arithmetic(source.type.dtype));
  return in_domain(domain, [&]<typename T>(T) {
    return one(
        call.dense(self.type.dtype, sizes_of(self), [self, source, mode, targets = std::move(targets)] {
          Elements<T> before(self);
          Elements<T> written(source);
          std::vector<T> result(before.begin(), before.end());
          for (std::size_t i = 0; i < targets.size(); ++i) {
            T& element = result[static_cast<std::size_t>(targets[i])];
            element = mode == Write::Add ? wrap_add(element, written[i]) : written[i];
          }
          return pack<T>(self.type.dtype, result);
        }));
  });
}

Contents index_put(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  TRY(Places places, find_places(call, sizes, dense_strides(sizes)));
  Shape written_sizes = places.sizes();
  TRY(Shape common, broadcast_sizes(written_sizes, sizes_of(call.tensor("values"))));
  if (common != written_sizes) return bad_arguments("the values do not broadcast to the indexed elements");
  Shape flat = places.flat_sizes();
  Shape walk = places.kept_strides;
  walk.insert(walk.begin() + static_cast<std::ptrdiff_t>(places.at), 0);
  std::vector<std::int64_t> targets;
  targets.reserve(checked_count(flat).value_or(0));
  std::int64_t inner = 1;  // elements per index position, in the dimensions after the index
  for (std::size_t dim = places.at + 1; dim < flat.size(); ++dim) inner *= flat[dim];
  for_each_row(flat, walk, 0, [&](std::int64_t position, std::int64_t stride, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::size_t place = targets.size() / static_cast<std::size_t>(inner) % places.offsets.size();
      targets.push_back(position + i * stride + places.offsets[place]);
    }
  });
  Write mode = call.boolean("accumulate") ? Write::Add : Write::Replace;
  return written(call, std::move(targets), broadcast_to(call.tensor("values"), written_sizes), mode);
}

// --- indices along one dimension

// Returns the slices of `self` at the indices along `dim`; the index sizes replace the dimension.
Result<RuntimeValue> selected(const KernelCall& call, const TensorData& self, std::size_t dim,
                              const TensorData& indices) {
  TRY_STATUS(check_indices(indices));
  Places places;
  places.index_sizes = sizes_of(indices);
  places.kept_sizes = sizes_of(self);
  places.kept_strides = strides_of(self);
  places.at = dim;
  std::int64_t size = places.kept_sizes[dim];
  for (std::int64_t index : Elements<std::int64_t>(indices)) {
    if (index < 0 || index >= size)
      return bad_arguments(fmt::format("index {} is out of range for size {}", index, size));
    places.offsets.push_back(index * places.kept_strides[dim]);
  }
  places.kept_sizes.erase(places.kept_sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  places.kept_strides.erase(places.kept_strides.begin() + static_cast<std::ptrdiff_t>(dim));
  return gathered(call, self, std::move(places));
}

Contents index_select(const KernelCall& call) {
  TensorData self = call.tensor("self");
  TensorData indices = call.tensor("index");
  if (indices.type.rank() > 1) return bad_arguments("the indices must have rank 0 or 1");
  if (indices.type.rank() == 0) indices = with_shape(indices, {1}, {1}, indices.offset);
  TRY(std::size_t dim, checked_dim(call.integer("dim"), self.type.rank()));
  if (self.type.rank() > 0) return one(selected(call, self, dim, indices));
  TRY_STATUS(check_indices(indices));
  Elements<std::int64_t> list(indices);
  if (list.size() != 1 || list[0] != 0)
    return bad_arguments("the index of a tensor of rank 0 must select one element");
  return one(std::move(self));
}

Contents embedding(const KernelCall& call) {
  const TensorData& weight = call.tensor("weight");
  if (weight.type.rank() != 2) return bad_arguments("the weight must have rank 2");
  return one(selected(call, weight, 0, call.tensor("indices")));
}

// Returns, for each element of `index`, the offset in a tensor with these strides: same position in all
// dimensions but `dim`, and the element's value along `dim`.
Result<std::vector<std::int64_t>> offsets_along(const TensorData& index, std::size_t dim, Shape sizes,
                                                Shape strides) {
  TRY_STATUS(check_indices(index));
  Shape own = sizes_of(index);
  if (sizes.empty()) sizes = {1};
  if (strides.empty()) strides = {0};
  if (own.empty()) own = {1};
  if (own.size() != sizes.size()) return bad_arguments("the indices must have the tensor's rank");
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (i != dim && own[i] > sizes[i]) return bad_arguments("an indices size exceeds the tensor's");
  }
  std::int64_t step = strides[dim];
  strides[dim] = 0;
  Elements<std::int64_t> indices(index);
  std::vector<std::int64_t> offsets;
  offsets.reserve(indices.size());
  std::optional<std::int64_t> bad_index;
  for_each_row(own, strides, 0, [&](std::int64_t position, std::int64_t stride, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t place = indices[offsets.size()];
      if (place < 0 || place >= sizes[dim]) bad_index = place;
      offsets.push_back(position + i * stride + (bad_index ? 0 : place * step));
    }
  });
  if (bad_index)
    return bad_arguments(fmt::format("index {} is out of range for size {}", *bad_index, sizes[dim]));
  return offsets;
}

Contents gather(const KernelCall& call) {
  TensorData self = call.tensor("self");
  const TensorData& index = call.tensor("index");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), self.type.rank()));
  TRY(std::vector<std::int64_t> offsets, offsets_along(index, dim, sizes_of(self), strides_of(self)));
  Places places;  // all dimensions are indexed
  places.offsets = std::move(offsets);
  places.index_sizes = sizes_of(index);
  return one(gathered(call, self, std::move(places)));
}

// Returns the offsets of the elements of self that `index` selects, for writing.
Result<std::vector<std::int64_t>> scatter_targets(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  TRY(std::size_t dim, checked_dim(call.integer("dim"), sizes.size()));
  return offsets_along(call.tensor("index"), dim, sizes, dense_strides(sizes));
}

// Slices the source to the sizes of the index.
Result<TensorData> scatter_source(const KernelCall& call) {
  const TensorData& source = call.tensor("src");
  Shape sizes = sizes_of(call.tensor("index"));
  Shape own = sizes_of(source);
  if (own.size() != sizes.size()) return bad_arguments("the source must have the rank of the indices");
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (sizes[i] > own[i]) return bad_arguments("a source size is smaller than the indices'");
  }
  return with_shape(source, sizes, strides_of(source), source.offset);
}

template <Write mode>
Contents scatter(const KernelCall& call) {
  TRY(std::vector<std::int64_t> targets, scatter_targets(call));
  TRY(TensorData source, scatter_source(call));
  return written(call, std::move(targets), std::move(source), mode);
}

Contents scatter_value(const KernelCall& call) {
  TRY(std::vector<std::int64_t> targets, scatter_targets(call));
  TensorData value = broadcast_to(call.operand("value"), {static_cast<std::int64_t>(targets.size())});
  return written(call, std::move(targets), std::move(value), Write::Replace);
}

enum class Reduction : std::uint8_t { Sum, Product, Mean, Maximum, Minimum };

template <typename T>
T combine(Reduction reduction, T a, T b) {
  if (reduction == Reduction::Product) return wrap_mul(a, b);
  if (reduction == Reduction::Maximum) return a > b || a != a ? a : b;
  if (reduction == Reduction::Minimum) return a < b || a != a ? a : b;
  return wrap_add(a, b);
}

// Reduces the source into `elements` at the targets. Old elements take part only with `include_self`. Means
// of integers are rounded down.
template <typename T>
void reduce_into(std::vector<T>& elements, const std::vector<std::int64_t>& targets,
                 std::span<const T> source, Reduction reduction, bool include_self) {
  std::vector<std::int64_t> counts(elements.size(), include_self ? 1 : 0);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto at = static_cast<std::size_t>(targets[i]);
    elements[at] = counts[at]++ == 0 ? source[i] : combine(reduction, elements[at], source[i]);
  }
  for (std::size_t i = 0; reduction == Reduction::Mean && i < elements.size(); ++i) {
    if (counts[i] <= 1) continue;
    T quotient = elements[i] / static_cast<T>(counts[i]);
    bool rounds_up = std::is_integral_v<T> && wrap_mul(quotient, static_cast<T>(counts[i])) > elements[i];
    elements[i] = rounds_up ? wrap_sub(quotient, T{1}) : quotient;
  }
}

Contents scatter_reduce(const KernelCall& call) {
  constexpr std::pair<std::string_view, Reduction> reductions[] = {{"sum", Reduction::Sum},
                                                                   {"prod", Reduction::Product},
                                                                   {"mean", Reduction::Mean},
                                                                   {"amax", Reduction::Maximum},
                                                                   {"amin", Reduction::Minimum}};
  const auto* found =
      std::ranges::find(reductions, call.text("reduce"), &std::pair<std::string_view, Reduction>::first);
  if (found == std::end(reductions)) return bad_arguments("unknown reduction mode");
  const TensorData& self = call.tensor("self");
  TRY(std::vector<std::int64_t> targets, scatter_targets(call));
  TRY(TensorData source, scatter_source(call));
  TRY(Domain domain, domain_of(self.type.dtype));
  TRY_STATUS(check_arithmetic(source.type.dtype));
  bool include_self = call.boolean("include_self");
  Reduction reduction = found->second;
  return in_domain(domain, [&]<typename T>(T) {
    return one(call.dense(self.type.dtype, sizes_of(self),
                          [self, source, reduction, include_self, targets = std::move(targets)] {
                            Elements<T> before(self);
                            std::vector<T> result(before.begin(), before.end());
                            reduce_into<T>(result, targets, Elements<T>(source).span(), reduction,
                                           include_self);
                            return pack<T>(self.type.dtype, result);
                          }));
  });
}

// Returns `self` with the slices at the indices replaced by slices of the source.
Contents index_copy(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  const TensorData& index = call.tensor("index");
  const TensorData& source = call.tensor("source");
  TRY(std::size_t dim, checked_dim(call.integer("dim"), sizes.size()));
  if (sizes.empty() || index.type.rank() > 1) return bad_arguments("the indices must have rank 0 or 1");
  Shape source_sizes = sizes;
  source_sizes[dim] = static_cast<std::int64_t>(count_of(index));
  if (sizes_of(source) != source_sizes) return bad_arguments("the source does not match the indices");
  Shape index_strides(sizes.size(), 0);
  index_strides[dim] = index.type.rank() == 0 ? 0 : strides_of(index)[0];
  TensorData spread = with_shape(index, source_sizes, index_strides, index.offset);
  TRY(std::vector<std::int64_t> targets, offsets_along(spread, dim, sizes, dense_strides(sizes)));
  return written(call, std::move(targets), source, Write::Replace);
}

// --- results with data-dependent sizes

Contents nonzero(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  TRY(Domain domain, domain_of(self.type.dtype));
  Shape sizes = sizes_of(self);
  std::vector<std::int64_t> places;
  std::int64_t count = 0;
  in_domain(domain, [&]<typename T>(T) {
    Elements<T> elements(self);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (elements[i] == 0) continue;
      ++count;
      auto rest = static_cast<std::int64_t>(i);
      places.resize(places.size() + sizes.size());
      auto place = places.rbegin();
      for (std::size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim]) *place++ = rest % sizes[dim];
    }
  });
  Dims result = {count, static_cast<std::int64_t>(sizes.size())};
  return one(make_data<std::int64_t>(ScalarType::I64, result, places));
}

Contents masked_select(const KernelCall& call) {
  const TensorData& mask = call.tensor("mask");
  if (mask.type.dtype != ScalarType::Bool) return bad_arguments("the mask must be bool");
  TRY(Shape sizes, broadcast_sizes(sizes_of(call.tensor("self")), sizes_of(mask)));
  TensorData self = broadcast_to(call.tensor("self"), sizes);
  Elements<std::int64_t> truths(broadcast_to(mask, sizes));
  Places places;
  std::size_t i = 0;
  for_each_row(sizes, strides_of(self), 0,
               [&](std::int64_t position, std::int64_t stride, std::int64_t count) {
                 for (std::int64_t k = 0; k < count; ++k, ++i) {
                   if (truths[i] != 0) places.offsets.push_back(position + k * stride);
                 }
               });
  places.index_sizes = {static_cast<std::int64_t>(places.offsets.size())};
  return one(gathered(call, self, std::move(places)));
}

// Writes the elements of the source in order to the positions where the mask is true.
Contents masked_scatter(const KernelCall& call) {
  Shape sizes = sizes_of(call.tensor("self"));
  TRY(Shape common, broadcast_sizes(sizes, sizes_of(call.tensor("mask"))));
  if (common != sizes) return bad_arguments("the mask does not match the tensor");
  TRY_STATUS(check_indices(call.tensor("mask")));
  Elements<std::int64_t> truths(broadcast_to(call.tensor("mask"), sizes));
  std::vector<std::int64_t> targets;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i] != 0) targets.push_back(static_cast<std::int64_t>(i));
  }
  if (targets.size() > count_of(call.tensor("source")))
    return bad_arguments("the source has fewer elements than the mask selects");
  return written(call, std::move(targets), call.tensor("source"), Write::Replace);
}

}  // namespace

std::span<const KernelLine> indexing_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.index.Tensor", index},
      {"aten.index_put.default", index_put},
      {"aten.index_select.default", index_select},
      {"aten.index_copy.default", index_copy},
      {"aten.embedding.default", embedding},
      {"aten.gather.default", gather},
      {"aten.scatter.src", scatter<Write::Replace>},
      {"aten.scatter.value", scatter_value},
      {"aten.scatter_add.default", scatter<Write::Add>},
      {"aten.scatter_reduce.two", scatter_reduce},
      {"aten.nonzero.default", nonzero},
      {"aten.masked_select.default", masked_select},
      {"aten.masked_scatter.default", masked_scatter},
  };
  return lines;
}

}  // namespace depute::internal
