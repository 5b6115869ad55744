// Norms of vectors and matrices, and distances, which are norms of differences. Matrix norms that need
// singular values are rejected.
//
//   aten.linalg_matrix_norm.default(f32[2, 3], 1)   ->   abs, sum over 0, amax over 0
//   aten.dist.default(%x, %y, 2)                    ->   sub, mul, sum, sqrt
//
// Half precision is summed in f32, like in eager PyTorch.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

bool takes(const OpCall& call, std::string_view name) {
  return call.def().arg_index(Name(name)) >= 0;
}

// --- (sum |x|^p)^(1/p), and its limits for p = 0, inf and -inf

// The norm of a single element is its absolute value, for any `p`.
Value* p_norm(Builder& b, Value* x, double p, const Ints& dims, bool keepdim, bool is_vector = true) {
  if (p == 2) {
    Value* squares = b.call("aten.mul.Tensor", {x, x});
    return b.call("aten.sqrt.default", {b.call("aten.sum.dim_IntList", {squares, dims, keepdim})});
  }
  if (p == 0) {
    Value* is_set = to_dtype(b, b.call("aten.ne.Scalar", {x, 0}), x->tensor().dtype);
    return b.call("aten.sum.dim_IntList", {is_set, dims, keepdim});
  }
  Value* magnitude = b.call("aten.abs.default", {x});
  if (std::isinf(p)) {
    return b.call(p > 0 ? "aten.amax.default" : "aten.amin.default", {magnitude, dims, keepdim});
  }
  if (p == 1) return b.call("aten.sum.dim_IntList", {magnitude, dims, keepdim});
  const Dims& sizes = x->tensor().sizes;
  const bool is_single = std::ranges::all_of(dims, [&](std::int64_t dim) {
    return sizes[static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(sizes.size()) : dim)] ==
           1;
  });
  if (is_vector && is_single && !dims.empty()) return b.call("aten.amax.default", {magnitude, dims, keepdim});
  // The runtime's abs leaves -0, whose reciprocal is -inf.
  if (p < 0) magnitude = b.call("aten.where.ScalarSelf", {b.call("aten.eq.Scalar", {x, 0}), 0.0, magnitude});
  Value* powers = b.call("aten.pow.Tensor_Scalar", {magnitude, p});
  return b.call("aten.pow.Tensor_Scalar", {b.call("aten.sum.dim_IntList", {powers, dims, keepdim}), 1 / p});
}

// Returns the elements to take a norm of: absolute values for complex numbers.
Value* real_lengths(Builder& b, Value* x) {
  return is_complex(x->tensor().dtype) ? b.call("aten.abs.default", {x}) : x;
}

// Returns the norm over `dims`, computed in f32 for half precision; without dimensions, that of each element.
Value* wide_norm(Builder& b, Value* x, double p, const Ints& dims, bool keepdim) {
  ScalarType dtype = x->tensor().dtype;
  if (is_half_precision(dtype)) x = to_dtype(b, x, ScalarType::F32);
  if (x->tensor().rank() == 0) {
    Value* row = b.view(x, {1});
    return to_dtype(b, p_norm(b, row, p, {0}, false, false), dtype);
  }
  return to_dtype(b, p_norm(b, x, p, dims, keepdim), dtype);
}

// --- norms of vectors

ScalarType norm_type(const OpCall& call) {
  ScalarType own = call[0].as_value()->tensor().dtype;
  return part_of(dtype_or(call, is_floating(own) || is_complex(own) ? own : ScalarType::F32));
}
Types infer_norm(const OpCall& call) {
  TRY(std::vector<Type> types, infer_reduction(call));
  types[0].tensor.dtype = norm_type(call);
  return types;
}
Result<Ints> norm_dims(const OpCall& call) {
  Argument dims = takes(call, "dim") ? call["dim"] : Argument::none();
  TRY(std::vector<std::size_t> wrapped, wrap_dims(dims, call.tensor("self").rank()));
  return Ints(wrapped.begin(), wrapped.end());
}
Replacement norm_of(Builder& b, const OpCall& call, double p) {
  Value* x = to_dtype(b, real_lengths(b, b.own(call.value("self"))), norm_type(call));
  TRY(Ints dims, norm_dims(call));
  return one(wide_norm(b, x, p, dims, takes(call, "keepdim") && call.boolean("keepdim")));
}
Replacement vector_norm(Builder& b, const OpCall& call) {
  TRY(double order, constant_number(call, "ord"));
  return norm_of(b, call, order);
}
Replacement norm(Builder& b, const OpCall& call) {
  if (!takes(call, "p") || call["p"].is_none()) return norm_of(b, call, 2);
  TRY(double order, constant_number(call, "p"));
  return norm_of(b, call, order);
}

// --- norms of matrices

Failure no_singular_values() {
  return type_error("this norm requires singular values; the runtime has no kernel for them");
}

// Returns the largest (smallest) sum over one dimension, along the other.
Replacement largest_sum(Builder& b, const OpCall& call, double order, std::int64_t rows,
                        std::int64_t columns) {
  if (std::fabs(order) == 2) return no_singular_values();
  if (std::fabs(order) != 1 && !std::isinf(order)) return argument_error("unknown order of a matrix norm");
  auto rank = static_cast<std::int64_t>(call.tensor("self").rank());
  TRY(std::size_t row, wrap_dim(rows, static_cast<std::size_t>(rank)));
  TRY(std::size_t column, wrap_dim(columns, static_cast<std::size_t>(rank)));
  if (row == column) return argument_error("a matrix norm requires two different dimensions");
  if (std::isinf(order)) std::swap(row, column);
  Value* x = to_dtype(b, real_lengths(b, b.own(call.value("self"))), norm_type(call));
  bool is_wide = !is_half_precision(x->tensor().dtype);
  if (!is_wide) x = to_dtype(b, x, ScalarType::F32);
  Value* sums = b.call("aten.sum.dim_IntList",
                       {b.call("aten.abs.default", {x}), Ints{static_cast<std::int64_t>(row)}, true});
  // No sum at all is like one of nothing.
  const bool has_none = sums->tensor().sizes[column] == 0;
  const char* pick = has_none    ? "aten.sum.dim_IntList"
                     : order > 0 ? "aten.amax.default"
                                 : "aten.amin.default";
  Value* extreme = b.call(pick, {sums, Ints{static_cast<std::int64_t>(column)}, true});
  if (!call.boolean("keepdim")) {
    Ints both{static_cast<std::int64_t>(std::min(row, column)),
              static_cast<std::int64_t>(std::max(row, column))};
    extreme = b.call("aten.squeeze.dims", {extreme, both});
  }
  return one(to_dtype(b, extreme, norm_type(call)));
}
Replacement matrix_norm(Builder& b, const OpCall& call) {
  TRY(double order, constant_number(call, "ord"));
  Ints dims = call.ints("dim");
  if (dims.size() != 2) return argument_error("a matrix norm requires exactly two dimensions");
  return largest_sum(b, call, order, dims[0], dims[1]);
}
Replacement named_norm(Builder& b, const OpCall& call) {
  return call.text("ord") == "fro" ? norm_of(b, call, 2) : no_singular_values();
}
Types infer_nuclear(const OpCall& call) {
  return tensor_result(norm_type(call), call.boolean("keepdim") ? Dims{1, 1} : Dims{});
}
Replacement singular_norm(Builder&, const OpCall&) {
  return no_singular_values();
}
// Vector norm over one dimension, matrix norm over two; without an order over all elements.
Replacement linalg_norm(Builder& b, const OpCall& call) {
  if (call["ord"].is_none()) return norm_of(b, call, 2);
  TRY(double order, constant_number(call, "ord"));
  Ints dims = call["dim"].is_none() ? Ints{} : call.ints("dim");
  if (dims.empty()) {
    dims.resize(call.tensor("self").rank());
    std::iota(dims.begin(), dims.end(), 0);
  }
  return dims.size() == 2 ? largest_sum(b, call, order, dims[0], dims[1]) : norm_of(b, call, order);
}

// --- distances

Types infer_dist(const OpCall& call) {
  return tensor_result(part_of(promoted_type(call)), {});
}
Replacement dist(Builder& b, const OpCall& call) {
  TRY(double order, constant_number(call, "p"));
  Value* difference = b.call("aten.sub.Tensor", {call["self"], call["other"]});
  Ints dims(difference->tensor().rank());
  std::iota(dims.begin(), dims.end(), 0);
  return one(wide_norm(b, real_lengths(b, difference), order, dims, false));
}

// Infers the distances of all rows of x1 to all rows of x2.
Types infer_cdist(const OpCall& call) {
  const TensorType &a = call.tensor("x1"), &c = call.tensor("x2");
  if (a.rank() < 2 || c.rank() < 2) return argument_error("cdist requires tensors of rank 2 or more");
  TRY(Dims sizes,
      broadcast(Dims(a.sizes.begin(), a.sizes.end() - 2), Dims(c.sizes.begin(), c.sizes.end() - 2)));
  sizes.push_back(a.sizes[a.rank() - 2]);
  sizes.push_back(c.sizes[c.rank() - 2]);
  return tensor_result(promote(a.dtype, c.dtype), std::move(sizes));
}
Replacement cdist(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_cdist(call));
  if (call.tensor("x1").sizes.back() == 0) {
    return one(b.call("aten.full.default", {types[0].tensor.sizes, 0, types[0].tensor.dtype}));
  }
  return one(b.call("aten._cdist_forward.default", call.args()));
}
// Counts the positions where two rows differ; NaN if one of them has NaN, which the kernel counts.
Replacement count_with_nan(Builder& b, const OpCall& call) {
  if (call.number("p") != 0) return std::vector<Value*>{};
  Value* rows = b.call("aten.unsqueeze.default", {call["x1"], -2});
  Value* difference = b.call("aten.sub.Tensor", {rows, b.call("aten.unsqueeze.default", {call["x2"], -3})});
  Value* differs = b.call("aten.ne.Scalar", {difference, 0});
  Value* ones = b.call("aten.where.ScalarOther", {b.call("aten.isnan.default", {difference}), difference, 1});
  return one(b.call("aten.sum.dim_IntList", {zero_unless(b, differs, ones), Ints{-1}}));
}
// Infers the distances of all pairs of rows, each once.
Types infer_pdist(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() != 2) return argument_error("pdist requires a tensor of rank 2");
  if (!(call.number("p") >= 0)) return argument_error("the order p of a distance must not be negative");
  return tensor_result(self.dtype, {floor_div(self.sizes[0] * (self.sizes[0] - 1), 2)});
}
// The kernel counts a difference that is NaN like any other, and a maximum leaves it out. A distance of order 1 is
// NaN if one of its differences is.
Replacement pdist_with_nan(Builder& b, const OpCall& call) {
  const double order = call.number("p");
  if (order != 0 && !std::isinf(order)) return std::vector<Value*>{};
  Value* sums = b.call("aten._pdist_forward.default", {call["self"], 1.0});
  Value* distances = b.call("aten._pdist_forward.default", call.args());
  return one(b.call("aten.where.self", {b.call("aten.isnan.default", {sums}), sums, distances}));
}

// Scales vectors (slices along `dim`) that exceed maxnorm to that length.
Replacement renorm(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(double order, constant_number(call, "p"));
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Ints others;
  for (std::size_t i = 0; i < self.rank(); ++i) {
    if (i != dim) others.push_back(static_cast<std::int64_t>(i));
  }
  if (others.empty()) return argument_error("renorm requires a tensor of rank 2 or more");
  Value* x = b.own(call.value("self"));
  if (is_half_precision(self.dtype)) x = to_dtype(b, x, ScalarType::F32);
  Value* norms = p_norm(b, x, order, others, true);
  Value* is_long = b.call("aten.gt.Scalar", {norms, call["maxnorm"]});
  Value* guarded = b.call("aten.add.Scalar", {norms, 1e-7});
  Value* factor = b.call("aten.mul.Scalar", {b.call("aten.reciprocal.default", {guarded}), call["maxnorm"]});
  Value* scale = b.call("aten.where.ScalarOther", {is_long, factor, 1});
  return one(to_dtype(b, b.call("aten.mul.Tensor", {x, scale}), self.dtype));
}

}  // namespace

std::span<const OpLine> vector_norm_ops() {
  static constexpr OpLine lines[] = {
      {"aten.linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None)",
       composite(infer_norm, vector_norm, Reduction)},
      {"aten.linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
       "ScalarType? dtype=None)",
       composite(infer_norm, matrix_norm, Reduction)},
      {"aten.linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
       "keepdim=False, *, ScalarType? dtype=None)",
       composite(infer_norm, named_norm, Reduction)},
      {"aten.linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
       "dtype=None)",
       composite(infer_norm, linalg_norm, Reduction)},
      {"aten.linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
       "dtype=None)",
       composite(infer_norm, named_norm, Reduction)},
      {"aten.norm.Scalar(Tensor self, Scalar p=2)", composite(infer_norm, norm, Reduction)},
      {"aten.norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)",
       written_by("norm.out", composite(infer_norm, norm, Reduction))},
      {"aten.norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype)",
       composite(infer_norm, norm, Reduction)},
      {"aten.norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)",
       written_by("norm.dtype_out", composite(infer_norm, norm, Reduction))},
      {"aten.frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False)",
       written_by("frobenius_norm.out", composite(infer_norm, norm, Reduction))},
      {"aten.nuclear_norm(Tensor self, bool keepdim=False)",
       composite(infer_nuclear, singular_norm, Reduction)},
      {"aten.nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False)",
       composite(infer_norm, singular_norm, Reduction)},
      {"aten.dist(Tensor self, Tensor other, Scalar p=2)",
       {.promotes = "self other", .infer = infer_dist, .decompose = dist}},
      {"aten.cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None)",
       in_autocast(AutocastF32, composite(infer_cdist, cdist))},
      {"aten._cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode)",
       fitted(count_with_nan, kernel("_cdist_forward.out", infer_cdist))},
      {"aten.pdist(Tensor self, float p=2.)", composite(infer_pdist, text<"_pdist_forward(self, p)">)},
      {"aten._pdist_forward(Tensor self, float p=2.)",
       accepting("self f32 f64", fitted(pdist_with_nan, kernel("_pdist_forward.out", infer_pdist)))},
      {"aten.renorm(Tensor self, Scalar p, int dim, Scalar maxnorm)",
       composite(infer_same_type, renorm, InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
