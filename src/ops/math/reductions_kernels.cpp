// Kernels of reductions: sums, means, extremes and their positions.
#include <cmath>
#include <limits>

#include "kernels/rows.h"
#include "support/try.h"

namespace depute::internal {
namespace {

enum class Empty : std::uint8_t { Allowed, Refused };

// Calls fn(row of T) for every row. T is the domain of the result's type, or of the operand's for bools.
template <auto fn, Empty empty = Empty::Allowed>
Contents reduce(const KernelCall& call) {
  TensorData self = call.tensor("self");
  ScalarType dtype = call.result_type();
  TRY(Domain domain, domain_of(dtype == ScalarType::Bool ? self.type.dtype : dtype));
  TRY_STATUS(check_arithmetic(self.type.dtype));
  TRY(Rows rows, rows_of(call, self));
  if (empty == Empty::Refused && rows.length == 0 && rows.count > 0) {
    return bad_arguments("an empty tensor has no maximum or minimum");
  }
  return in_domain(domain, [&]<typename T>(T) {
    return one(call.dense(dtype, rows.sizes, [rows, dtype] {
      Elements<T> elements(rows.data);
      std::vector<T> results;
      results.reserve(rows.count);
      for (std::size_t i = 0; i < rows.count; ++i) {
        results.push_back(static_cast<T>(fn(elements.span().subspan(i * rows.length, rows.length))));
      }
      return pack<T>(dtype, results);
    }));
  });
}

constexpr auto sum = []<typename T>(std::span<const T> row) {
  Sum<T> total = 0;
  for (T x : row) total = wrap_add(total, static_cast<Sum<T>>(x));
  return total;
};
constexpr auto mean = []<typename T>(std::span<const T> row) {
  return static_cast<double>(sum(row)) / static_cast<double>(row.size());
};
constexpr auto prod = []<typename T>(std::span<const T> row) {
  Sum<T> product = 1;
  for (T x : row) product = wrap_mul(product, static_cast<Sum<T>>(x));
  return product;
};
constexpr auto any = []<typename T>(std::span<const T> row) {
  for (T x : row) {
    if (x != 0) return true;
  }
  return false;
};
constexpr auto all = []<typename T>(std::span<const T> row) {
  for (T x : row) {
    if (x == 0) return false;
  }
  return true;
};

// Converts operands to bool first if the result is bool: as numbers they could cancel or overflow.
template <auto fn, auto of_bools>
Contents total(const KernelCall& call) {
  return call.result_type() == ScalarType::Bool ? reduce<of_bools>(call) : reduce<fn>(call);
}

// Returns the first position of the largest element; NaN counts as the largest, and for minima as the
// smallest.
constexpr auto place_of_max = []<typename T>(std::span<const T> row) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size() && row[best] == row[best]; ++i) {
    if (row[i] > row[best] || row[i] != row[i]) best = i;
  }
  return best;
};
constexpr auto place_of_min = []<typename T>(std::span<const T> row) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size() && row[best] == row[best]; ++i) {
    if (row[i] < row[best] || row[i] != row[i]) best = i;
  }
  return best;
};
template <auto place>
constexpr auto element_at = []<typename T>(std::span<const T> row) { return row[place(row)]; };

// Returns the position in each row, as an integer.
template <auto place>
Result<RuntimeValue> places(const KernelCall& call, const Rows& rows) {
  TRY(Domain domain, domain_of(rows.data.type.dtype));
  return in_domain(domain, [&]<typename T>(T) {
    return call.dense(ScalarType::I64, rows.sizes, [rows] {
      Elements<T> elements(rows.data);
      std::vector<std::int64_t> results;
      for (std::size_t i = 0; i < rows.count; ++i) {
        auto row = elements.span().subspan(i * rows.length, rows.length);
        results.push_back(static_cast<std::int64_t>(place(row)));
      }
      return pack<std::int64_t>(ScalarType::I64, results);
    });
  });
}

template <auto place>
Contents argument(const KernelCall& call) {
  TRY(Rows rows, rows_of(call, call.tensor("self")));
  if (rows.length == 0 && rows.count > 0) return bad_arguments("an empty tensor has no argmax or argmin");
  return one(places<place>(call, rows));
}

template <auto place>
Contents with_place(const KernelCall& call) {
  TRY(std::vector<RuntimeValue> results, reduce<element_at<place>, Empty::Refused>(call));
  TRY(Rows rows, rows_of(call, call.tensor("self")));
  TRY(RuntimeValue indices, places<place>(call, rows));
  results.push_back(std::move(indices));
  return results;
}

enum class Spread : std::uint8_t { Variance, Deviation };

// Returns the sum of squared distances from the mean, divided by (count - correction).
template <Spread spread>
Contents variance(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  double correction = 1;
  if (call.has("correction") && !call.is_none("correction")) correction = call.number("correction");
  if (call.has("unbiased")) correction = call.boolean("unbiased") ? 1 : 0;
  TRY(Domain domain, domain_of(self.type.dtype));
  if (domain == Domain::Int) return bad_arguments("the variance requires a floating-point tensor");
  TRY(Rows rows, rows_of(call, self));
  ScalarType dtype = call.result_type();
  return one(call.dense(dtype, rows.sizes, [rows, dtype, correction] {
    Elements<double> elements(rows.data);
    std::vector<double> results;
    for (std::size_t i = 0; i < rows.count; ++i) {
      auto row = elements.span().subspan(i * rows.length, rows.length);
      double middle = mean(row);
      double squares = 0;
      for (double x : row) squares += (x - middle) * (x - middle);
      double result = squares / std::max(static_cast<double>(row.size()) - correction, 0.0);
      results.push_back(spread == Spread::Deviation ? std::sqrt(result) : result);
    }
    return pack<double>(dtype, results);
  }));
}

// Returns (sum |x|^ord)^(1/ord). Order 0 counts the nonzero elements; an infinite order returns the extreme.
double norm_of(std::span<const double> row, double order) {
  double total = order == -std::numeric_limits<double>::infinity() ? -order : 0;
  for (double x : row) {
    double size = std::fabs(x);
    if (order == std::numeric_limits<double>::infinity()) {
      total = size > total || size != size ? size : total;
    } else if (order == -std::numeric_limits<double>::infinity()) {
      total = size < total || size != size ? size : total;
    } else {
      total += order == 0 ? (size != 0) : order == 2 ? size * size : std::pow(size, order);
    }
  }
  if (std::isinf(order) || order == 0) return total;
  return order == 2 ? std::sqrt(total) : std::pow(total, 1 / order);
}

Contents vector_norm(const KernelCall& call) {
  const TensorData& self = call.tensor("self");
  double order = call.number("ord");
  TRY_STATUS(check_arithmetic(self.type.dtype));
  TRY(Rows rows, rows_of(call, self));
  ScalarType dtype = call.result_type();
  return one(call.dense(dtype, rows.sizes, [rows, dtype, order] {
    Elements<double> elements(rows.data);
    std::vector<double> results;
    results.reserve(rows.count);
    for (std::size_t i = 0; i < rows.count; ++i) {
      results.push_back(norm_of(elements.span().subspan(i * rows.length, rows.length), order));
    }
    return pack<double>(dtype, results);
  }));
}

}  // namespace

std::span<const KernelLine> reduction_kernels() {
  static constexpr KernelLine lines[] = {
      {"aten.sum.default", total<sum, any>},
      {"aten.sum.dim_IntList", total<sum, any>},
      {"aten.mean.default", reduce<mean>},
      {"aten.mean.dim", reduce<mean>},
      {"aten.prod.default", total<prod, all>},
      {"aten.prod.dim_int", total<prod, all>},
      {"aten.any.default", reduce<any>},
      {"aten.any.dim", reduce<any>},
      {"aten.any.dims", reduce<any>},
      {"aten.all.default", reduce<all>},
      {"aten.all.dim", reduce<all>},
      {"aten.amax.default", reduce<element_at<place_of_max>, Empty::Refused>},
      {"aten.amin.default", reduce<element_at<place_of_min>, Empty::Refused>},
      {"aten.max.default", reduce<element_at<place_of_max>, Empty::Refused>},
      {"aten.min.default", reduce<element_at<place_of_min>, Empty::Refused>},
      {"aten.max.dim", with_place<place_of_max>},
      {"aten.min.dim", with_place<place_of_min>},
      {"aten.argmax.default", argument<place_of_max>},
      {"aten.argmin.default", argument<place_of_min>},
      {"aten.var.correction", variance<Spread::Variance>},
      {"aten.var.dim", variance<Spread::Variance>},
      {"aten.std.correction", variance<Spread::Deviation>},
      {"aten.linalg_vector_norm.default", vector_norm},
  };
  return lines;
}

}  // namespace depute::internal
