// Ops that read or write elements at places that a tensor lists. GATHER reads rows: of values [N, K, C] and places
// [N, W] it makes [N, W, C]. SCATTER writes rows, each place at most once.
//
// Places are i32. Those of i64 become i32 at the border of the delegate, or by a CAST if the target has i64. Constants are checked here. Other places lie inside
// the tensor, or PyTorch would fail.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "emitter.h"
#include "lower/weights/order.h"
#include "ops/places.h"

namespace depute::tosa::ops {
namespace {

std::vector<std::int32_t> places_of(const weights::Constant& constant) {
  const std::shared_ptr<const Storage> storage = constant.storage();
  const weights::Bytes bytes(storage);
  std::vector<std::int32_t> numbers(bytes.view().size() / sizeof(std::int32_t));
  if (!numbers.empty())
    std::memcpy(numbers.data(), bytes.view().data(), numbers.size() * sizeof(std::int32_t));
  return numbers;
}

Tensor places_tensor(Emitter& emit, const Places& places, const Shape& shape) {
  return emit.constant(weights::constant_of(
      "", make_data<std::int32_t>(ScalarType::I32, dims_of(shape), std::span<const std::int32_t>(places))));
}

std::int64_t product_of(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t product = 1;
  for (std::size_t i = from; i < to; ++i) product *= shape[i];
  return product;
}

enum class Negative : std::uint8_t { CountFromTheEnd, Never };

// The profile of floats does not move integers, but floats, which have the places in tensors of this size.
constexpr std::int64_t max_places_of_floats = 1 << 24;

Tensor movable(Emitter& emit, const Tensor& places) {
  if (emit.profile() != Profile::Floats || places.dtype != DType::I32) return places;
  if (!emit.is_constant(places)) return emit.cast(places, DType::F32);
  const Tensor rows = emit.in_rows(places);
  const Places numbers = places_of(emit.data(rows));
  const std::vector<float> floats(numbers.begin(), numbers.end());
  return emit.constant(weights::constant_of(
      "", make_data<float>(ScalarType::F32, dims_of(places.shape), std::span<const float>(floats))));
}

Check check_places_of_floats(const Emitter& emit, std::int64_t size) {
  if (emit.profile() != Profile::Floats || size <= max_places_of_floats) return {};
  return Refusal{"profile", fmt::format("{} places", size), fmt::format("at most {}", max_places_of_floats)};
}

// Places along a dimension of this size, none of which is negative afterwards.
Check wrap(Emitter& emit, Tensor& places, std::int64_t size, Negative negative = Negative::Never) {
  DEPUTE_REFUSE_IF(emit.refusal());
  DEPUTE_REFUSE_IF(check_places_of_floats(emit, size));
  if (places.dtype != DType::I32) return Refusal{"dtype", std::string(name(places.dtype)), "places of i32"};
  if (emit.is_constant(places)) {
    places = emit.in_rows(places);
    Places numbers = places_of(emit.data(places));
    for (std::int32_t& number : numbers) {
      if (number < 0) number += static_cast<std::int32_t>(size);
      if (number < 0 || number >= size)
        return Refusal{"argument", std::to_string(number), "places inside the tensor"};
    }
    places = places_tensor(emit, numbers, places.shape);
    return {};
  }
  if (negative == Negative::Never) return {};
  places = movable(emit, places);
  const Tensor wrapped = emit.add(Op::Add, places, static_cast<double>(size));
  places = emit.select(emit.compare(Op::Greater, emit.number(0, places.dtype), places), wrapped, places);
  return {};
}

// GATHER and SCATTER do not have bool.
Tensor without_bool(Emitter& emit, const Tensor& x) {
  return x.dtype == DType::Bool ? emit.cast(x, DType::I8) : x;
}

// Places in each of the batches, in the type by which elements of this type are found.
Tensor places_in_batches(Emitter& emit, const Tensor& places, DType found, std::int64_t batches) {
  const Shape shape = {batches, places.shape.back()};
  const Tensor given = places.shape == shape ? places : movable(emit, places);
  Tensor each = emit.in_rows(emit.expand(given, shape));
  if (is_float(each.dtype)) each = emit.rounded(each, DType::I32);
  return emit.cast(each, wide_integer(found));
}

// Rows of [N, K, C] at the places, [W] or [N, W].
Tensor rows_at(Emitter& emit, const Tensor& values, const Tensor& places) {
  const std::int64_t batches = values.shape[0];
  const std::int64_t count = places.shape.back();
  const Tensor each = places_in_batches(emit, places, values.dtype, batches);
  const Tensor from = emit.in_rows(without_bool(emit, values));
  const Tensor made = emit.raw(Op::Gather, {from, each}, from.dtype, {batches, count, values.shape[2]});
  return emit.cast(made, values.dtype);
}

// Dimensions [first, last) of the tensor as one, with one dimension for those before them, and one for those behind.
Tensor as_rows(Emitter& emit, const Tensor& x, std::size_t first, std::size_t last) {
  return emit.reshape(x, {product_of(x.shape, 0, first), product_of(x.shape, first, last),
                          product_of(x.shape, last, x.rank())});
}

bool is_list(const Tensor& places) {
  return places.rank() == 2 && places.shape[0] == 1;
}

// The elements along a dimension at places of any shape, which replaces the dimension.
Tensor taken(Emitter& emit, const Tensor& x, std::size_t dim, const Tensor& places) {
  const Tensor list =
      is_list(places) ? places : emit.reshape(movable(emit, places), {element_count(places.shape)});
  const Tensor made = rows_at(emit, as_rows(emit, x, dim, dim + 1), list);
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  for (const std::int64_t size : places.shape) shape.push_back(size);
  for (std::size_t i = dim + 1; i < x.rank(); ++i) shape.push_back(x.shape[i]);
  return emit.reshape(made, shape);
}

Check embedding(Emitter& emit, const OpCall& call) {
  Tensor places = emit.places(*call.value("indices"));
  const Tensor weight = emit.input(call, "weight");
  DEPUTE_REFUSE_IF(wrap(emit, places, weight.shape[0]));
  return emit.result(taken(emit, weight, 0, places));
}

Check index_select(Emitter& emit, const OpCall& call) {
  Tensor places = emit.places(*call.value("index"));
  const Tensor x = emit.input(call, "self");
  if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
  const std::size_t dim = dimension(call, "dim", x.rank());
  DEPUTE_REFUSE_IF(wrap(emit, places, x.shape[dim]));
  return emit.result(emit.reshape(taken(emit, x, dim, places), emit.result_shape()));
}

// Indices of dimensions that follow one another, as places in these dimensions together.
struct Indexed {
  std::size_t first = 0;
  std::size_t last = 0;
  Tensor places;
};

Check read_indices(Emitter& emit, const OpCall& call, const Tensor& x, Indexed& indexed) {
  const std::span<const Argument> given = call["indices"].as_list();
  const auto is_given = [](const Argument& index) { return index.is_value(); };
  const auto first = std::ranges::find_if(given, is_given);
  const auto last = std::find_if_not(first, given.end(), is_given);
  if (first == given.end() || std::any_of(last, given.end(), is_given))
    return refuse_argument(call, "indices", "indices of dimensions that follow one another");
  indexed.first = static_cast<std::size_t>(first - given.begin());
  indexed.last = static_cast<std::size_t>(last - given.begin());
  std::vector<Tensor> parts;
  for (std::size_t dim = indexed.first; dim < indexed.last; ++dim) {
    Tensor places = emit.places(*given[dim].as_value());
    DEPUTE_REFUSE_IF(wrap(emit, places, x.shape[dim], Negative::CountFromTheEnd));
    parts.push_back(movable(emit, places));
  }
  Shape shape = parts[0].shape;
  for (const Tensor& part : parts) shape = broadcast(shape, part.shape);
  std::int64_t stride = 1;
  for (std::size_t i = parts.size(); i-- > 0;) {
    const Tensor scaled = stride == 1 ? parts[i] : emit.mul(parts[i], static_cast<double>(stride));
    indexed.places = i + 1 == parts.size() ? scaled : emit.add(Op::Add, {scaled, indexed.places});
    stride *= x.shape[indexed.first + i];
  }
  indexed.places = emit.expand(indexed.places, shape);
  return check_places_of_floats(emit, stride);
}

Check index(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  Indexed indexed;
  DEPUTE_REFUSE_IF(read_indices(emit, call, x, indexed));
  const Tensor list = emit.reshape(indexed.places, {element_count(indexed.places.shape)});
  const Tensor made = rows_at(emit, as_rows(emit, x, indexed.first, indexed.last), list);
  return emit.result(emit.reshape(made, emit.result_shape()));
}

// Dimensions in the order that has `dim` behind the others.
Order moved_last(std::size_t rank, std::size_t dim) {
  Order order;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != dim) order.push_back(static_cast<std::uint8_t>(i));
  }
  order.push_back(static_cast<std::uint8_t>(dim));
  return order;
}

// out[i, j] = x[i, index[i, j]]: each row is a batch of rows with one element.
Check gather(Emitter& emit, const OpCall& call) {
  Tensor x = emit.input(call, "self");
  Tensor places = emit.places(*call.value("index"));
  if (x.rank() == 0 || places.rank() != x.rank())
    return Refusal{"rank", std::to_string(places.rank()), "at least 1"};
  const std::size_t dim = dimension(call, "dim", x.rank());
  DEPUTE_REFUSE_IF(wrap(emit, places, x.shape[dim]));
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != dim) x = emit.slice(x, i, 0, places.shape[i]);
  }
  const Order order = moved_last(x.rank(), dim);
  const Tensor turned = emit.permute(x, order);
  const Tensor turned_places = emit.permute(movable(emit, places), order);
  const std::int64_t size = x.shape[dim];
  const std::int64_t count = places.shape[dim];
  const std::int64_t rows = element_count(x.shape) / size;
  const Tensor of_rows = emit.reshape(emit.in_rows(turned_places), {rows, count});
  const Tensor made = rows_at(emit, emit.reshape(emit.in_rows(turned), {rows, size, 1}), of_rows);
  return emit.result(emit.permute(emit.reshape(made, turned_places.shape), weights::inverse(order)));
}

}  // namespace

Tensor at_places(Emitter& emit, const Tensor& x, std::size_t dim, const Places& places) {
  return taken(emit, x, dim, places_tensor(emit, places, {static_cast<std::int64_t>(places.size())}));
}

namespace {

// Windows along a dimension, whose elements become the last dimension.
Check unfold(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
  const std::size_t dim = dimension(call, "dimension", x.rank());
  const std::int64_t size = call.integer("size");
  const std::int64_t step = call.integer("step");
  const std::int64_t count = emit.result_shape()[dim];
  if (size < 1) return refuse_argument(call, "size", "at least 1");
  Places places;
  for (std::int64_t window = 0; window < count; ++window) {
    for (std::int64_t i = 0; i < size; ++i) places.push_back(static_cast<std::int32_t>(window * step + i));
  }
  Shape split = x.shape;
  split[dim] = count;
  Order order;
  for (std::size_t i = 0; i < split.size() + 1; ++i) {
    if (i != dim + 1) order.push_back(static_cast<std::uint8_t>(i));
  }
  order.push_back(static_cast<std::uint8_t>(dim + 1));
  Shape with_windows;
  for (std::size_t i = 0; i < split.size(); ++i) {
    with_windows.push_back(split[i]);
    if (i == dim) with_windows.push_back(size);
  }
  return emit.result(emit.permute(emit.reshape(at_places(emit, x, dim, places), with_windows), order));
}

// The two dimensions as one, of which every (columns + 1)-th element is on the diagonal.
Check diagonal(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  const std::size_t dim1 = dimension(call, "dim1", x.rank());
  const std::size_t dim2 = dimension(call, "dim2", x.rank());
  const std::int64_t offset = call.integer("offset");
  Order order;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i != dim1 && i != dim2) order.push_back(static_cast<std::uint8_t>(i));
  }
  order.push_back(static_cast<std::uint8_t>(dim1));
  order.push_back(static_cast<std::uint8_t>(dim2));
  const Shape target = emit.result_shape();
  const std::int64_t columns = x.shape[dim2];
  const std::int64_t start = offset >= 0 ? offset : -offset * columns;
  Places places;
  for (std::int64_t i = 0; i < target.back(); ++i)
    places.push_back(static_cast<std::int32_t>(start + i * (columns + 1)));
  Shape merged(target.begin(), target.end() - 1);
  merged.push_back(x.shape[dim1] * columns);
  return emit.result(
      at_places(emit, emit.reshape(emit.permute(x, order), merged), merged.size() - 1, places));
}

// --- writing: the places must be known, since SCATTER writes none twice

// The tensor with the rows written to the places along its dimensions [first, last).
Tensor with_rows(Emitter& emit, const Tensor& x, std::size_t first, std::size_t last, const Places& places,
                 const Tensor& rows) {
  const Tensor base = as_rows(emit, x, first, last);
  const std::int64_t batches = base.shape[0];
  const auto count = static_cast<std::int64_t>(places.size());
  const Tensor list = places_in_batches(emit, places_tensor(emit, places, {count}), x.dtype, batches);
  const Tensor from = emit.in_rows(without_bool(emit, base));
  const Tensor written = emit.in_rows(without_bool(emit, emit.expand(rows, {batches, count, base.shape[2]})));
  const Tensor made = emit.raw(Op::Scatter, {from, list, written}, from.dtype, base.shape);
  return emit.reshape(emit.cast(made, x.dtype), x.shape);
}

Check known_places(Emitter& emit, const Tensor& given, Places& places) {
  if (!emit.is_constant(given))
    return Refusal{"argument", "an index that is computed", "constants where elements are written"};
  places = places_of(emit.data(emit.in_rows(given)));
  Places sorted = places;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    return Refusal{"argument", "an index that occurs twice", "different places where elements are written"};
  return {};
}

Check index_copy(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (x.rank() == 0) return Refusal{"rank", "0", "at least 1"};
  const std::size_t dim = dimension(call, "dim", x.rank());
  Tensor given = emit.places(*call.value("index"));
  DEPUTE_REFUSE_IF(wrap(emit, given, x.shape[dim]));
  Places places;
  DEPUTE_REFUSE_IF(known_places(emit, given, places));
  const Tensor rows = as_rows(emit, emit.input(call, "source"), dim, dim + 1);
  return emit.result(with_rows(emit, x, dim, dim + 1, places, rows));
}

Check index_put(Emitter& emit, const OpCall& call) {
  const Tensor x = emit.input(call, "self");
  if (call.boolean("accumulate")) return refuse_argument(call, "accumulate", "False");
  if (call["indices"].as_list().size() != 1 || !call["indices"].as_list()[0].is_value())
    return refuse_argument(call, "indices", "one index, of the first dimension");
  Indexed indexed;
  DEPUTE_REFUSE_IF(read_indices(emit, call, x, indexed));
  Places places;
  DEPUTE_REFUSE_IF(known_places(emit, indexed.places, places));
  Shape written = indexed.places.shape;
  for (std::size_t i = 1; i < x.rank(); ++i) written.push_back(x.shape[i]);
  const Tensor values = emit.expand(emit.input(call, "values"), written);
  const Tensor rows =
      emit.reshape(values, {1, static_cast<std::int64_t>(places.size()), product_of(x.shape, 1, x.rank())});
  return emit.result(with_rows(emit, x, 0, 1, places, rows));
}

}  // namespace

std::span<const OpRule> gather() {
  static constexpr OpRule rules[] = {
      {.op = "aten.diagonal.default", .translate = diagonal, .integers = IntegerForm::SameScale},
      {.op = "aten.embedding.default", .translate = embedding, .integers = IntegerForm::SameScale},
      {.op = "aten.gather.default", .translate = gather, .integers = IntegerForm::SameScale},
      {.op = "aten.index.Tensor",
       .conditions = "indices of dimensions that follow one another",
       .translate = index,
       .integers = IntegerForm::SameScale},
      {.op = "aten.index_copy.default",
       .conditions = "a constant index without repetitions",
       .translate = index_copy,
       .integers = IntegerForm::SameScale},
      {.op = "aten.index_put.default",
       .conditions = "a constant index of the first dimension without repetitions; no accumulation",
       .translate = index_put,
       .integers = IntegerForm::SameScale},
      {.op = "aten.index_select.default", .translate = index_select, .integers = IntegerForm::SameScale},
      {.op = "aten.unfold.default", .translate = unfold, .integers = IntegerForm::SameScale},
  };
  return rules;
}

}  // namespace depute::tosa::ops
