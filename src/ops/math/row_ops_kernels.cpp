// Kernels that map rows to rows along one dimension: softmax, running sums, sorting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/rows.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Calls fn(row, row of the result) for every row along `dim`; both have elements of type T.
template <typename T, typename Function>
Contents map_rows(const KernelCall& call, const TensorData& self, std::int64_t dim, Function fn) {
  TRY(Rows rows, rows_along(self, dim));
  ScalarType dtype = call.result_type();
  TRY(RuntimeValue result, call.dense(dtype, sizes_of(rows.data), [rows, dtype, fn] {
    Elements<T> elements(rows.data);
    std::vector<T> results(elements.size());
    for (std::size_t i = 0; i < rows.count; ++i) {
      std::size_t start = i * rows.length;
      fn(elements.span().subspan(start, rows.length), std::span<T>(results).subspan(start, rows.length));
    }
    return pack<T>(dtype, results);
  }));
  return one(in_place(rows, std::get<TensorData>(result)));
}

enum class Scale : std::uint8_t { Plain, Logarithm };

// Computes exp(x - largest) divided by the sum of all; or the logarithm of this.
template <Scale scale>
void softmax_row(std::span<const double> row, std::span<double> result) {
  double largest = row.empty() ? 0 : *std::ranges::max_element(row);
  double total = 0;
  for (double x : row) total += std::exp(x - largest);
  for (std::size_t i = 0; i < row.size(); ++i) {
    double shifted = row[i] - largest;
    result[i] = scale == Scale::Plain ? std::exp(shifted) / total : shifted - std::log(total);
  }
}

template <Scale scale>
Contents softmax(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  TRY_STATUS(check_arithmetic(self.type.dtype));
  return map_rows<double>(call, self, call.integer("dim"), softmax_row<scale>);
}

Contents cumsum(const KernelCall& call) {
  TensorData self = call.tensor("self");
  TRY_STATUS(check_arithmetic(self.type.dtype));
  // Fractions would be truncated to 0, but are true.
  if (call.result_type() == ScalarType::Bool && is_floating(self.type.dtype))
    return bad_arguments("a sum of truth values of floats");
  TRY(Domain domain, domain_of(call.result_type()));
  return in_domain(domain, [&]<typename T>(T) {
    return map_rows<Sum<T>>(call, self, call.integer("dim"), [](auto row, auto result) {
      Sum<T> total = 0;
      for (std::size_t i = 0; i < row.size(); ++i) result[i] = total = wrap_add(total, row[i]);
    });
  });
}

// --- sorting

enum class Order : std::uint8_t { Ascending, Descending };

// Returns the positions of a row's elements in order; the sort is stable, and NaN is the largest.
template <typename T>
std::vector<std::int64_t> sorted_places(std::span<const T> row, Order order) {
  std::vector<std::int64_t> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  auto comes_first = [](T a, T b) { return a < b || (a == a && b != b); };
  std::ranges::stable_sort(places, [&](std::int64_t a, std::int64_t b) {
    T x = row[static_cast<std::size_t>(a)];
    T y = row[static_cast<std::size_t>(b)];
    return order == Order::Ascending ? comes_first(x, y) : comes_first(y, x);
  });
  return places;
}

// Returns the first `kept` elements of each sorted row, and their positions.
Contents first_of_sorted(const KernelCall& call, std::int64_t dim, std::int64_t kept, Order order) {
  const TensorData& self = call.tensor("self");
  TRY(Domain domain, domain_of(self.type.dtype));
  TRY(Rows rows, rows_along(self, dim));
  if (kept < 0 || kept > static_cast<std::int64_t>(rows.length))
    return bad_arguments("k exceeds the size of the dimension");
  Shape sizes = sizes_of(rows.data);
  if (!sizes.empty()) sizes.back() = kept;
  auto count = static_cast<std::size_t>(kept);
  ScalarType dtype = self.type.dtype;
  return in_domain(domain, [&]<typename T>(T) -> Contents {
    auto gather = [rows, order, count](auto take) {
      Elements<T> elements(rows.data);
      for (std::size_t i = 0; i < rows.count; ++i) {
        auto row = elements.span().subspan(i * rows.length, rows.length);
        auto places = sorted_places(row, order);
        for (std::size_t k = 0; k < count; ++k) take(row, places[k]);
      }
    };
    TRY(RuntimeValue values, call.dense(dtype, sizes, [gather, dtype] {
      std::vector<T> result;
      gather([&](auto row, std::int64_t place) { result.push_back(row[static_cast<std::size_t>(place)]); });
      return pack<T>(dtype, result);
    }));
    TRY(RuntimeValue places, call.dense(ScalarType::I64, sizes, [gather] {
      std::vector<std::int64_t> result;
      gather([&](auto, std::int64_t place) { result.push_back(place); });
      return pack<std::int64_t>(ScalarType::I64, result);
    }));
    return std::vector<RuntimeValue>{in_place(rows, std::get<TensorData>(values)),
                                     in_place(rows, std::get<TensorData>(places))};
  });
}

Contents sort(const KernelCall& call) {
  TRY(Rows rows, rows_along(call.tensor("self"), call.integer("dim")));
  return first_of_sorted(call, call.integer("dim"), static_cast<std::int64_t>(rows.length),
                         call.boolean("descending") ? Order::Descending : Order::Ascending);
}

Contents topk(const KernelCall& call) {
  const bool is_number = sizes_of(call.tensor("self")).empty();  // of which any k is 1
  return first_of_sorted(call, call.integer("dim"), is_number ? 1 : call.integer("k"),
                         call.boolean("largest") ? Order::Descending : Order::Ascending);
}

}  // namespace

std::span<const KernelLine> row_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten._softmax.default", softmax<Scale::Plain>},
      {"aten.softmax.int", softmax<Scale::Plain>},
      {"aten._log_softmax.default", softmax<Scale::Logarithm>},
      {"aten.log_softmax.int", softmax<Scale::Logarithm>},
      {"aten.cumsum.default", cumsum},
      {"aten.sort.default", sort},
      {"aten.topk.default", topk},
  };
  return lines;
}

}  // namespace depute::internal
