// Sorting and derived ops: medians, quantiles, modes, positions in sorted rows.
//
// All are built on the runtime's topk over the whole length, in O(n log n). It orders equal elements
// arbitrarily, but torch sorts stably. So a second topk sorts the indices of equal elements by a key: the
// number of the element's run of equal ones, times n, plus its index. For small integers the element itself
// replaces the run number.
//
//   %v, %i = aten.sort.stable(%x)      ->      t, u = topk(x, n, -1, false)
//                                              key = run * n + u        run: the number of changes along t
//                                              k, j = topk(key, n, -1, false)
//                                              i = k - run * n
//                                              v = gather(x, -1, i)
#include "ops/tensors/order.h"

#include <fmt/format.h>

#include "ops/idioms.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Term gather(const Term& x, std::size_t dim, const Term& indices) {
  return x.call("aten.gather.default", {static_cast<std::int64_t>(dim), indices.value()});
}
Term zero_index(Builder& b) {
  return {b, b.call("aten.full.default", {Ints{}, 0, ScalarType::I64})};
}

bool is_small_integer(ScalarType dtype) {
  return !is_floating(dtype) && item_size(dtype) <= 4;
}

// 0, 1, 2, ... along the dimension
Term places(const Term& x, std::size_t dim) {
  Builder& b = x.builder();
  Argument size = b.size(x.sizes()[dim]);
  Dims column(x.rank() - dim, SymInt(1));
  column[0] = x.sizes()[dim];
  return {b, b.view(b.call("aten.arange.start_step", {0, size}), column)};
}

// Returns the previous element along the dimension, and 0 before the first. No kernel that selects takes a
// dimension that turns out to be empty.
Term earlier_of(const Term& x, std::size_t dim) {
  Builder& b = x.builder();
  const auto axis = static_cast<std::int64_t>(dim);
  Dims first = x.sizes();
  first[dim] = 1;
  Value* zero = b.call("aten.full.default", {first, 0, x.dtype()});
  Term moved(b, b.call("aten.cat.default", {std::vector<Value*>{zero, x.value()}, axis}));
  return moved.call("aten.slice.Tensor", {axis, 0, b.size(x.sizes()[dim])});
}
// Returns the number of each element's run of equal ones. `differs` is true where an element differs from the
// previous one.
Term runs(const Term& differs, std::size_t dim) {
  return differs.to(ScalarType::I64).call("aten.cumsum.default", {static_cast<std::int64_t>(dim)});
}

// Returns the indices of all elements in stable order.
Term stable_order(const Term& x, std::size_t dim, bool descending) {
  Term size(x.builder(), x.builder().call("aten.scalar_tensor.default",
                                          {x.builder().size(x.sizes()[dim]), ScalarType::I64}));
  if (is_small_integer(x.dtype())) {
    Term rank = x.to(ScalarType::I64) * size;
    if (descending) rank = -rank;
    Term key = places(x, dim) + rank;
    return order_of(key, dim, false).indices;
  }
  Sorted sorted = order_of(x, dim, descending);
  Term earlier = earlier_of(sorted.values, dim);
  Term differs = sorted.values != earlier;
  // Here NaN equals NaN.
  if (is_floating(x.dtype())) differs = differs & !is_nan(descending ? sorted.values : earlier);
  Term run = runs(differs, dim) * size;
  return order_of(run + sorted.indices, dim, false).values - run;
}

Sorted sorted_of(const Term& x, std::size_t dim, bool descending) {
  if (x.rank() == 0) return {x, zero_index(x.builder())};
  if (x.value()->tensor().numel() == 0) return {x, x.to(ScalarType::I64)};
  Term indices = stable_order(x, dim, descending);
  return {gather(x, dim, indices), indices};
}

Types infer_sort(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  return std::vector<Type>{tensor_type({.dtype = self.dtype, .sizes = self.sizes}),
                           tensor_type({.dtype = ScalarType::I64, .sizes = self.sizes})};
}
Types infer_argsort(const OpCall& call) {
  return tensor_result(ScalarType::I64, call.tensor("self").sizes);
}
Replacement sort(Builder& b, const OpCall& call) {
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), call.tensor("self").rank()));
  Sorted sorted = sorted_of(tensor_operand(b, call, "self"), dim, call.boolean("descending"));
  return std::vector<Value*>{sorted.values.value(), sorted.indices.value()};
}
Replacement argsort(Builder& b, const OpCall& call) {
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), call.tensor("self").rank()));
  return one(sorted_of(tensor_operand(b, call, "self"), dim, call.boolean("descending")).indices.value());
}
Replacement msort(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  if (x.rank() == 0 || x.value()->tensor().numel() == 0)
    return one(b.call("aten.alias.default", {x.value()}));
  return one(order_of(x, 0, false).values.value());
}

// --- selecting one element of the order

// Selects the value and the index at `place`, which has size 1 along `dim`.
Replacement pick(const OpCall& call, const Sorted& sorted, std::size_t dim, const Term& place) {
  Term value = gather(sorted.values, dim, place), index = gather(sorted.indices, dim, place);
  if (!call.boolean("keepdim")) {
    auto axis = static_cast<std::int64_t>(dim);
    value = value.call("aten.squeeze.dim", {axis});
    index = index.call("aten.squeeze.dim", {axis});
  }
  return std::vector<Value*>{value.value(), index.value()};
}
Replacement scalar_and_index(const Term& x) {
  return std::vector<Value*>{x.value(), zero_index(x.builder()).value()};
}

Replacement kthvalue(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  if (x.rank() == 0) return scalar_and_index(x);
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), x.rank()));
  if (!call["k"].is_int()) return type_error("'k' must be a constant");
  Sorted sorted = sorted_of(x, dim, false);
  std::int64_t place = call.integer("k") - 1;
  auto at = [&](const Term& y) { return slice(y, dim, place, place + 1); };
  Term value = at(sorted.values), index = at(sorted.indices);
  if (!call.boolean("keepdim")) {
    auto axis = static_cast<std::int64_t>(dim);
    value = value.call("aten.squeeze.dim", {axis});
    index = index.call("aten.squeeze.dim", {axis});
  }
  return std::vector<Value*>{value.value(), index.value()};
}

// Returns the position of the median: the lower of the two middle elements. NaN is sorted last; the first NaN
// is returned unless NaN is ignored.
Term middle(const Sorted& sorted, std::size_t dim, bool ignores_nan) {
  const Term& x = sorted.values;
  Builder& b = x.builder();
  Term size(b, b.call("aten.scalar_tensor.default", {b.size(x.sizes()[dim]), ScalarType::I64}));
  auto lower = [](const Term& n) {
    return (n - 1).call("aten.clamp.default", {0}).call("aten.bitwise_right_shift.Tensor_Scalar", {1});
  };
  if (!is_floating(x.dtype())) {
    Dims sizes = x.sizes();
    sizes[dim] = 1;
    return lower(size).call("aten.expand.default", {sizes});
  }
  Term count = (!is_nan(x)).call("aten.sum.dim_IntList", {Ints{static_cast<std::int64_t>(dim)}, true});
  return ignores_nan ? lower(count) : where(count == size, lower(count), count);
}
Replacement median_along(Builder& b, const OpCall& call, bool ignores_nan) {
  Term x = tensor_operand(b, call, "self");
  if (x.rank() == 0) return scalar_and_index(x);
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), x.rank()));
  Sorted sorted = sorted_of(x, dim, false);
  return pick(call, sorted, dim, middle(sorted, dim, ignores_nan));
}
Types infer_one_element(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, {});
}
Replacement median_of_all(Builder& b, const OpCall& call, bool ignores_nan) {
  Term x = tensor_operand(b, call, "self");
  if (x.rank() == 0) return one(b.call("aten.alias.default", {x.value()}));
  if (x.value()->tensor().numel() == 0) return type_error("the median of an empty tensor is not supported");
  Term line(b, b.view(x.value(), {x.value()->tensor().numel()}));
  Sorted sorted = order_of(line, 0, false);
  Term value = gather(sorted.values, 0, middle(sorted, 0, ignores_nan));
  return one(value.call("aten.squeeze.dim", {0}).value());
}

// Returns the most frequent element, the smallest if there are several, with its last index. NaNs are never
// equal.
Replacement mode(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  if (x.rank() == 0) return scalar_and_index(x);
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), x.rank()));
  auto axis = static_cast<std::int64_t>(dim);
  Sorted sorted = sorted_of(x, dim, false);
  Term run = runs(sorted.values != earlier_of(sorted.values, dim), dim);
  run = run - slice(run, dim, 0, 1);  // a first NaN begins no second run
  Term zeros = run.call("aten.full_like.default", {0});
  Term counts = zeros.call("aten.scatter_add.default",
                           {axis, run.value(), zeros.call("aten.full_like.default", {1}).value()});
  Term most = counts.call("aten.argmax.default", {axis, true});
  // The last position of a run: the number of elements in it and in earlier runs, minus 1.
  Term last = counts.call("aten.cumsum.default", {axis}) - 1;
  return pick(call, sorted, dim, gather(last, dim, most));
}

// --- quantiles: interpolated between two elements of the order

Types infer_quantile(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::vector<std::size_t> dims, wrap_dims(call["dim"], self.rank()));
  Dims sizes = reduced_sizes(self.sizes, dims, call.boolean("keepdim"));
  const Value* q = call.value("q");
  bool has_many = q != nullptr && q->type().is_tensor() && q->tensor().rank() == 1;
  if (has_many) sizes.insert(sizes.begin(), q->tensor().sizes[0]);
  return tensor_result(self.dtype, std::move(sizes));
}
// Returns sorted rows in the last dimension: [..., n].
Term sorted_rows(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  if (call["dim"].is_none() || x.rank() == 0) return {b, b.view(x.value(), {x.value()->tensor().numel()})};
  return x.call("aten.transpose.int", {call["dim"], -1});
}
Replacement quantile_of(Builder& b, const OpCall& call, bool ignores_nan) {
  std::string_view way = call.text("interpolation");
  TRY(std::vector<Type> types, infer_quantile(call));
  Term rows = sorted_rows(b, call);
  ScalarType dtype = rows.dtype();
  std::size_t last = rows.rank() - 1;
  Term values = order_of(rows, last, false).values;
  Term numbers = (!is_nan(values)).call("aten.sum.dim_IntList", {Ints{-1}, true});
  Term size(b, b.call("aten.scalar_tensor.default", {b.size(rows.sizes()[last]), ScalarType::I64}));
  Term top = (ignores_nan ? (numbers - 1).call("aten.clamp.default", {0}) : size - 1).to(dtype);
  Term q = call["q"].is_value() ? tensor_operand(b, call, "q")
                                : Term(b, b.call("aten.full.default", {Ints{1}, call["q"], dtype}));
  if (q.rank() == 0) q = q.call("aten.unsqueeze.default", {0});
  Term place = top * q;  // [..., q]
  if (!ignores_nan) place = where(numbers == size, place, top);
  if (way == "lower") place = floor(place);
  if (way == "higher") place = place.call("aten.ceil.default");
  if (way == "nearest") place = place.call("aten.round.default");
  Term below = floor(place);
  auto at = [&](const Term& index) {
    Term indices = index.to(ScalarType::I64);
    Dims sizes = rows.sizes();
    sizes[last] = q.sizes()[0];
    return gather(values, last, indices.call("aten.expand.default", {sizes}));
  };
  Term low = at(below);
  if (way == "linear" || way == "midpoint") {
    Term high = at(place.call("aten.ceil.default"));
    Term weight = way == "linear" ? place - below : (place - below).call("aten.full_like.default", {0.5});
    low = low.call("aten.lerp.Tensor", {high.value(), weight.value()});
  }
  bool is_along_dim = !call["dim"].is_none() && call.tensor("self").rank() > 0;
  if (is_along_dim) {  // [..., q] -> [q, ..., 1] -> the reduced dimension in its place
    TRY(std::size_t dim, wrap_dim(call.integer("dim"), call.tensor("self").rank()));
    low = low.call("aten.unsqueeze.default", {0}).call("aten.transpose.int", {0, -1});
    low = low.call("aten.transpose.int", {static_cast<std::int64_t>(dim) + 1, -1});
  }
  return one(b.view(low.value(), types[0].tensor.sizes));
}

// --- positions in sorted rows: the number of elements that are smaller, or not larger
//
// Each value is compared with its whole row, and matches are counted.

Types infer_places(const OpCall& call) {
  const Argument& self = call["self"];
  bool is_tensor = self.is_value() && self.as_value()->type().is_tensor();
  const bool is_search = call.def().arg_index(Name("sorted_sequence")) >= 0;
  const TensorType& rows = call.tensor(is_search ? "sorted_sequence" : "boundaries");
  const bool are_rows = is_search ? rows.rank() >= 1 : rows.rank() == 1;
  if (!are_rows) return argument_error(fmt::format("boundaries must have rank 1, got rank {}", rows.rank()));
  if (is_search && rows.rank() > 1 && (!is_tensor || self.as_value()->tensor().rank() != rows.rank()))
    return argument_error(fmt::format("values must have the rank of the sorted sequence, {}", rows.rank()));
  const Value* sorter = is_search ? call.value("sorter") : nullptr;
  if (sorter != nullptr &&
      !may_agree(sorter->type(), tensor_type({.dtype = ScalarType::I64, .sizes = rows.sizes})))
    return argument_error("'sorter' must be i64 with the sizes of 'sorted_sequence'");
  bool is_narrow = call.boolean("out_int32");
  return tensor_result(is_narrow ? ScalarType::I32 : ScalarType::I64,
                       is_tensor ? self.as_value()->tensor().sizes : Dims{});
}
Term count_below(const OpCall& call, const Term& row, const Formula& values, bool is_right) {
  // NaN is larger than all other values.
  Term is_below = is_right ? row <= values : row < values;
  Term count = is_below.call("aten.sum.dim_IntList", {Ints{-1}});
  return count.to(call.boolean("out_int32") ? ScalarType::I32 : ScalarType::I64);
}
Replacement places_in(Builder& b, const OpCall& call, Term rows, bool is_right) {
  const Argument& self = call["self"];
  bool is_tensor = self.is_value() && self.as_value()->type().is_tensor();
  if (!is_tensor) return one(count_below(call, rows, self, is_right).value());
  Term values = tensor_operand(b, call, "self");
  bool is_float = is_floating(rows.dtype()) || is_floating(values.dtype());
  // A value without dimensions becomes of the rows' type, unless it alone is a float, or the rows alone bools.
  const bool are_bools = rows.dtype() == ScalarType::Bool && values.dtype() != ScalarType::Bool;
  if (values.rank() == 0 && is_floating(values.dtype()) <= is_floating(rows.dtype()) && !are_bools)
    values = values.to(rows.dtype());
  Term column = values.call("aten.unsqueeze.default", {-1});
  if (rows.rank() > 1) rows = rows.call("aten.unsqueeze.default", {-2});
  Term count = count_below(call, rows, column, is_right);
  if (!is_float || !is_floating(values.dtype())) return one(count.value());
  Argument size = b.size(rows.sizes().back());
  Term all(b, b.call("aten.scalar_tensor.default", {size, count.dtype()}));
  return one(where(is_nan(values), all, count).value());
}
Replacement searchsorted(Builder& b, const OpCall& call) {
  bool is_right = call.boolean("right") || (!call["side"].is_none() && call.text("side") == "right");
  Term rows = tensor_operand(b, call, "sorted_sequence");
  if (!call["sorter"].is_none()) rows = gather(rows, rows.rank() - 1, tensor_operand(b, call, "sorter"));
  return places_in(b, call, rows, is_right);
}
Replacement bucketize(Builder& b, const OpCall& call) {
  return places_in(b, call, tensor_operand(b, call, "boundaries"), call.boolean("right"));
}

}  // namespace

Sorted order_of(const Term& x, std::size_t dim, bool descending) {
  Builder& b = x.builder();
  Term numbers = x.dtype() == ScalarType::Bool ? x.to(ScalarType::U8) : Formula(x);
  Argument size = b.size(x.sizes()[dim]);
  std::vector<Value*> results = b.call_all(
      "aten.topk.default", {numbers.value(), size, static_cast<std::int64_t>(dim), descending, true});
  if (results.size() < 2) return {x, x};
  return {Term(b, results[0]).to(x.dtype()), {b, results[1]}};
}

std::span<const OpLine> order_ops() {
  static constexpr OpLine lines[] = {
      {"aten.sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
       written_by("sort.values", composite(infer_sort, sort))},
      {"aten.sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, "
       "Tensor indices)",
       written_by("sort.values_stable", composite(infer_sort, sort))},
      {"aten.argsort(Tensor self, int dim=-1, bool descending=False)", composite(infer_argsort, argsort)},
      {"aten.argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False)",
       composite(infer_argsort, argsort)},
      {"aten.msort(Tensor self)", composite(infer_same_type, msort)},
      {"aten.kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor "
       "indices)",
       written_by("kthvalue.values", composite(infer_dim_reduction_pair, kthvalue))},
      {"aten.median(Tensor self)", composite(infer_one_element, given<median_of_all, false>)},
      {"aten.median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       written_by("median.dim_values", composite(infer_dim_reduction_pair, given<median_along, false>))},
      {"aten.nanmedian(Tensor self)", composite(infer_one_element, given<median_of_all, true>)},
      {"aten.nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       written_by("nanmedian.dim_values", composite(infer_dim_reduction_pair, given<median_along, true>))},
      {"aten.mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       written_by("mode.values", composite(infer_dim_reduction_pair, mode))},
      {"aten.quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
       "interpolation=\"linear\")",
       in_autocast(AutocastF32, composite(infer_quantile, given<quantile_of, false>))},
      {"aten.quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
       "interpolation=\"linear\")",
       in_autocast(AutocastF32, composite(infer_quantile, given<quantile_of, false>))},
      {"aten.nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
       "interpolation=\"linear\")",
       in_autocast(AutocastF32, composite(infer_quantile, given<quantile_of, true>))},
      {"aten.nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
       "interpolation=\"linear\")",
       in_autocast(AutocastF32, composite(infer_quantile, given<quantile_of, true>))},
      {"aten.searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
       "right=False, str? side=None, Tensor? sorter=None)",
       composite(infer_places, searchsorted)},
      {"aten.searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
       "right=False, str? side=None, Tensor? sorter=None)",
       composite(infer_places, searchsorted)},
      {"aten.bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)",
       composite(infer_places, bucketize)},
      {"aten.bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False)",
       composite(infer_places, bucketize)},
  };
  return lines;
}

}  // namespace depute::internal
