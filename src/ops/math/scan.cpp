// Ops along one dimension: running products, extremes and logarithms of sums, differences of neighbors,
// integrals and derivatives.
//
// A running operation takes log2(n) steps. In each, every element is combined with the one 1, 2, 4, ...
// positions before it, or with a neutral element. For a dynamic size, n is the upper bound; superfluous steps
// combine only with neutral elements.
//
//   %y = aten.cumprod.default(%x, 0)     ->     %p = aten.constant_pad_nd.default(%x, [1, 0], 1)
//                                               %s = aten.slice.Tensor(%p, 0, 0, -1)
//                                               %m = aten.mul.Tensor(%x, %s)   ; and so on with 2, 4, ...
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/idioms.h"
#include "ops/math/formula.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// --- running operations

constexpr std::int64_t max_running = std::int64_t{1} << 31U;  // maximum size in the runtime

using Combine = Term (*)(const Term& earlier, const Term& later);

struct Scan {
  std::size_t dim = 0;
  std::int64_t most = 0;  // maximum number of elements along it
};
Result<Scan> scan_of(const Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Scan scan;
  TRY(scan.dim, wrap_dim(call.integer("dim"), self.rank()));
  if (self.rank() == 0) return scan;
  scan.most = b.range_of(self.sizes[scan.dim]).max;
  if (scan.most <= max_running) return scan;
  Failure unbounded = type_error(
      fmt::format("a cumulative op along the size {}, which has no upper bound", self.sizes[scan.dim].str()));
  unbounded.error().hint = "lower with --bound, or export with torch.export.Dim(..., max=N)";
  return unbounded;
}

// Returns the elements `step` positions earlier, and `neutral` where there are none.
Term shifted(const Term& x, const Scan& scan, std::int64_t step, const BuilderArgument& neutral) {
  Ints pad(2 * (x.rank() - scan.dim), 0);
  pad[pad.size() - 2] = step;
  Term padded = x.call("aten.constant_pad_nd.default", {pad, neutral});
  return slice(padded, scan.dim, 0, -step);
}
Term run(Term x, const Scan& scan, const BuilderArgument& neutral, Combine combine) {
  for (std::int64_t step = 1; step < scan.most; step *= 2) {
    x = combine(shifted(x, scan, step, neutral), x);
  }
  return x;
}

Types infer_running(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  bool is_number = is_floating(self.dtype) || is_complex(self.dtype);
  return tensor_result(dtype_or(call, is_number ? self.dtype : ScalarType::I64), self.sizes);
}
Replacement cumprod(Builder& b, const OpCall& call) {
  TRY(Scan scan, scan_of(b, call));
  TRY(std::vector<Type> types, infer_running(call));
  ScalarType dtype = types[0].tensor.dtype;
  Term x = tensor_operand(b, call, "self").to(dtype);
  if (is_floating(dtype)) x = x.to(computing_type(dtype));
  return result(
      call, run(x, scan, 1, [](const Term& earlier, const Term& later) -> Term { return earlier * later; }));
}
Replacement logcumsumexp(Builder& b, const OpCall& call) {
  TRY(Scan scan, scan_of(b, call));
  Term x = tensor_operand(b, call, "self");
  if (!is_floating(x.dtype())) return type_error("logcumsumexp requires a floating-point tensor");
  x = x.to(computing_type(x.dtype()));
  return result(call, run(x, scan, -infinity,
                          [](const Term& earlier, const Term& later) { return log_add(earlier, later); }));
}

Types infer_running_extreme(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  return std::vector<Type>{tensor_type({.dtype = self.dtype, .sizes = self.sizes}),
                           tensor_type({.dtype = ScalarType::I64, .sizes = self.sizes})};
}
// Returns the smallest value of the type.
Argument lowest(ScalarType dtype) {
  if (is_floating(dtype)) return Argument::of(-infinity);
  if (dtype == ScalarType::U8 || dtype == ScalarType::Bool) return Argument::of(0);
  auto bits = static_cast<unsigned>(item_size(dtype) * 8);
  return Argument::of(std::numeric_limits<std::int64_t>::min() >> (64U - bits));
}
Argument highest(ScalarType dtype) {
  if (is_floating(dtype)) return Argument::of(infinity);
  if (dtype == ScalarType::U8) return Argument::of(255);
  auto bits = static_cast<unsigned>(item_size(dtype) * 8);
  return Argument::of(std::numeric_limits<std::int64_t>::max() >> (64U - bits));
}
Term larger(const Term& earlier, const Term& later) {
  return max(earlier, later);
}
Term smaller(const Term& earlier, const Term& later) {
  return min(earlier, later);
}
// The index is the last one at which the element equals the extreme.
Replacement running_extreme(Builder& b, const OpCall& call, bool is_max) {
  TRY(Scan scan, scan_of(b, call));
  Term x = tensor_operand(b, call, "self");
  ScalarType dtype = x.dtype();
  if (x.rank() == 0) {
    Value* zero = b.call("aten.full.default", {Ints{}, 0, ScalarType::I64});
    return std::vector<Value*>{x.value(), zero};
  }
  if (dtype == ScalarType::Bool) x = x.to(ScalarType::U8);
  Argument neutral = is_max ? lowest(x.dtype()) : highest(x.dtype());
  Term extreme = run(x, scan, neutral, is_max ? larger : smaller);
  Term is_new = x == extreme;
  if (is_floating(dtype)) is_new = is_new | is_nan(x);
  const Term place(b, along(b, range(b, x.sizes()[scan.dim]), scan.dim, x.rank()));
  Term index = run(where(is_new, place, 0), scan, 0, larger);
  return std::vector<Value*>{extreme.to(dtype).value(), index.value()};
}

// --- differences of neighbors; n = 0 returns the tensor without prepend and append

constexpr std::int64_t max_differences = 1 << 10;

Replacement diff(Builder& b, const OpCall& call) {
  if (call.integer("n") == 0) return one(b.call("aten.alias.default", {call["self"]}));
  const std::int64_t times = call.integer("n");
  if (times < 0 || times > max_differences)
    return type_error(fmt::format("diff with n={}; the limit is {}", times, max_differences));
  Value* x = b.own(call.value("self"));
  const Argument& dim = call["dim"];
  std::vector<Value*> parts{x};
  if (Value* before = b.own(call.value("prepend"))) parts.insert(parts.begin(), before);
  if (Value* behind = b.own(call.value("append"))) parts.push_back(behind);
  if (parts.size() > 1) x = b.call("aten.cat.default", {parts, dim});
  bool is_bool = call.tensor("self").dtype == ScalarType::Bool;
  for (std::int64_t i = 0; i < times; ++i) {
    Value* later = b.call("aten.slice.Tensor", {x, dim, 1, to_the_end});
    Value* earlier = b.call("aten.slice.Tensor", {x, dim, 0, -1});
    x = is_bool ? b.call("aten.logical_xor.default", {later, earlier})
                : b.call("aten.sub.Tensor", {later, earlier});
  }
  return one(x);
}

// --- integrals by the trapezoidal rule

ScalarType integral_type(const OpCall& call) {
  ScalarType dtype = call.tensor("y").dtype;
  if (call.def().arg_index(Name("x")) >= 0) {
    const TensorType& x = call.tensor("x");
    dtype = promote(dtype, x.dtype);
  }
  return is_floating(dtype) || is_complex(dtype) ? dtype : ScalarType::F32;
}
// Returns the sizes of x in the rank of y: a line along `dim`, or x with leading ones.
Dims places_sizes(const OpCall& call, std::size_t dim) {
  const Dims& x = call.tensor("x").sizes;
  std::size_t rank = call.tensor("y").rank();
  if (x.size() > rank) return x;
  Dims sizes(rank, SymInt(1));
  if (x.size() == 1) {
    sizes[dim] = x[0];
  } else {
    std::ranges::copy(x, sizes.begin() + static_cast<std::ptrdiff_t>(rank - x.size()));
  }
  return sizes;
}
// Integers keep their type: sums and products of bytes wrap in torch too.
Term integrand(Builder& b, Value* value) {
  Term term(b, value);
  return is_floating(term.dtype()) || is_complex(term.dtype()) ? term.to(computing_type(term.dtype())) : term;
}
// Returns y[i] + y[i + 1].
Term heights(const Term& y, std::size_t dim) {
  return slice(y, dim, 0, -1) + slice(y, dim, 1);
}
// Returns (y[i] + y[i + 1]) * (x[i + 1] - x[i]).
Term areas(Builder& b, const OpCall& call, const Term& y, std::size_t dim) {
  const Term x = integrand(b, b.view(b.own(call.value("x")), places_sizes(call, dim)));
  return (slice(x, dim, 1) - slice(x, dim, 0, -1)) * heights(y, dim);
}
bool has_places(const OpCall& call) {
  return call.def().arg_index(Name("x")) >= 0;
}
Replacement trapezoid(Builder& b, const OpCall& call) {
  TRY(std::size_t dim, dim_of(call, "dim", call.tensor("y")));
  const auto along = static_cast<std::int64_t>(dim);
  const Term y = integrand(b, b.own(call.value("y")));
  auto sum = [&](const Term& parts) { return parts.call("aten.sum.dim_IntList", {Ints{along}}); };
  if (has_places(call)) return one((sum(areas(b, call, y, dim)) * 0.5).to(integral_type(call)).value());
  TRY(double step, constant_number(call, "dx"));
  if (call.tensor("y").sizes[dim] == 0) return one((sum(y) * step).to(integral_type(call)).value());
  const Term ends = y.call("aten.select.int", {along, 0}) + y.call("aten.select.int", {along, -1});
  return one(((sum(y) - ends * 0.5) * step).to(integral_type(call)).value());
}
Replacement cumulative_trapezoid(Builder& b, const OpCall& call) {
  TRY(std::size_t dim, dim_of(call, "dim", call.tensor("y")));
  const Term y = integrand(b, b.own(call.value("y")));
  auto running = [&](const Term& parts) {
    return parts.call("aten.cumsum.default", {static_cast<std::int64_t>(dim)});
  };
  if (has_places(call)) return one((running(areas(b, call, y, dim)) * 0.5).to(integral_type(call)).value());
  TRY(double step, constant_number(call, "dx"));
  return one((running(heights(y, dim) * (step / 2))).to(integral_type(call)).value());
}

}  // namespace

std::span<const OpLine> scan_ops() {
  static constexpr OpLine lines[] = {
      {"aten.cumprod(Tensor self, int dim, *, ScalarType? dtype=None)",
       composite(infer_running, cumprod, InPlaceVariant)},
      {"aten.cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
       composite(infer_running_extreme, given<running_extreme, true>)},
      {"aten.cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
       composite(infer_running_extreme, given<running_extreme, false>)},
      {"aten.logcumsumexp(Tensor self, int dim)", composite(infer_same_type, logcumsumexp)},
      {"aten.diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)",
       derived(diff)},
      {"aten.trapezoid.x(Tensor y, Tensor x, *, int dim=-1)", derived(trapezoid)},
      {"aten.trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1)", derived(trapezoid)},
      {"aten.trapz.x(Tensor y, Tensor x, *, int dim=-1)", derived(trapezoid)},
      {"aten.trapz.dx(Tensor y, *, float dx=1., int dim=-1)", derived(trapezoid)},
      {"aten.cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1)", derived(cumulative_trapezoid)},
      {"aten.cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1)", derived(cumulative_trapezoid)},
      {"aten.gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> "
       "Tensor[]",
       composite(infer_gradient, gradient)},
      {"aten.gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]",
       composite(infer_gradient, gradient)},
      {"aten.gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
       composite(infer_gradient, gradient)},
      {"aten.gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> "
       "Tensor[]",
       composite(infer_gradient, gradient)},
      {"aten.gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> "
       "Tensor[]",
       composite(infer_gradient, gradient)},
      {"aten.gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> "
       "Tensor[]",
       composite(infer_gradient, gradient)},
      {"aten.gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]",
       composite(infer_gradient, gradient)},
  };
  return lines;
}

}  // namespace depute::internal
