// Reductions: sums, means, extremes, norms and running sums over dimensions.
//
//   aten.mean.dim(f32[2, 3, 4], [-1], true)  ->  f32[2, 3, 1]
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "depute/builder.h"
#include "ops/kernel_forms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

std::vector<std::int64_t> all_dims(const OpCall& call) {
  std::vector<std::int64_t> dims(call.tensor("self").rank());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

// A reduction over everything names all dimensions.
Replacement sum_all(Builder& b, const OpCall& call) {
  return one(b.call("aten.sum.dim_IntList", {call["self"], all_dims(call), false, call["dtype"]}));
}
Replacement mean_all(Builder& b, const OpCall& call) {
  return one(b.call("aten.mean.dim", {call["self"], all_dims(call), false, call["dtype"]}));
}

// all(x) is not any(not x).
Replacement all_by_any(std::string_view any, Builder& b, const OpCall& call) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  args[0] = b.call("aten.logical_not.default", {call["self"]});
  return one(b.call("aten.logical_not.default", {b.call(any, args)}));
}
Replacement all_default(Builder& b, const OpCall& call) {
  return all_by_any("aten.any.default", b, call);
}
Replacement all_dim(Builder& b, const OpCall& call) {
  return all_by_any("aten.any.dim", b, call);
}

Types infer_scalar_like(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, {});
}

Types infer_cumulative(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  bool is_number = is_floating(self.dtype) || is_complex(self.dtype);
  return tensor_result(dtype_or(call, is_number ? self.dtype : ScalarType::I64), self.sizes);
}

// --- spread

Replacement variance(Builder& b, const OpCall& call) {
  int correction = call.boolean("unbiased") ? 1 : 0;
  return one(b.call("aten.var.correction", {call["self"], call["dim"], correction, call["keepdim"]}));
}
Replacement deviation(Builder& b, const OpCall& call) {
  return one(b.call("aten.sqrt.default", {b.call("aten.var.correction", call.args())}));
}

// --- norms

Types infer_norm(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  ScalarType own = is_floating(self.dtype) || is_complex(self.dtype) ? self.dtype : ScalarType::F32;
  TRY(std::vector<Type> types, infer_reduction(call));
  types[0].tensor.dtype = dtype_or(call, own);
  return types;
}

// (sum |x|^p)^(1/p), and its limits for p = 0, inf and -inf
Value* p_norm(Builder& b, Value* x, double p, const Argument& dims, const Argument& keepdim) {
  if (p == 2) {
    Value* squares = b.call("aten.mul.Tensor", {x, x});
    return b.call("aten.sqrt.default", {b.call("aten.sum.dim_IntList", {squares, dims, keepdim})});
  }
  if (p == 0) {
    Value* is_set = b.call("aten._to_copy.default", {b.call("aten.ne.Scalar", {x, 0}), x->tensor().dtype});
    return b.call("aten.sum.dim_IntList", {is_set, dims, keepdim});
  }
  Value* magnitude = b.call("aten.abs.default", {x});
  if (std::isinf(p))
    return b.call(p > 0 ? "aten.amax.default" : "aten.amin.default", {magnitude, dims, keepdim});
  if (p == 1) return b.call("aten.sum.dim_IntList", {magnitude, dims, keepdim});
  Value* powers = b.call("aten.pow.Tensor_Scalar", {magnitude, p});
  return b.call("aten.pow.Tensor_Scalar", {b.call("aten.sum.dim_IntList", {powers, dims, keepdim}), 1 / p});
}
Replacement norm_of(Builder& b, const OpCall& call, double p) {
  Value* x = b.own(call.value("self"));
  TRY(std::vector<Type> types, infer_norm(call));
  ScalarType dtype = types[0].tensor.dtype;
  // powers of halves overflow soon
  const bool is_half = dtype == ScalarType::F16 || dtype == ScalarType::BF16;
  const ScalarType computed = is_half && p != 0 && !std::isinf(p) ? ScalarType::F32 : dtype;
  if (x->tensor().dtype != computed) x = b.call("aten._to_copy.default", {x, computed});
  if (b.failed()) return Failure(b.status().error());
  Argument dims = call["dim"];
  if (dims.is_none()) dims = b.graph().int_list(all_dims(call));
  Value* norm = p_norm(b, x, p, dims, call["keepdim"]);
  return one(computed == dtype ? norm : b.call("aten._to_copy.default", {norm, dtype}));
}
Replacement vector_norm(Builder& b, const OpCall& call) {
  TRY(double order, constant_number(call, "ord"));
  return norm_of(b, call, order);
}
Replacement norm(Builder& b, const OpCall& call) {
  if (call["p"].is_none()) return norm_of(b, call, 2);
  TRY(double order, constant_number(call, "p"));
  return norm_of(b, call, order);
}

// --- differences of neighbours

constexpr std::int64_t max_differences = 1 << 10;

Types infer_diff(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Dims sizes = self.sizes;
  ScalarType dtype = self.dtype;
  for (std::string_view more : {"prepend", "append"}) {
    const Value* value = call.value(more);
    if (value == nullptr) continue;
    const TensorType& type = value->tensor();
    if (type.rank() != self.rank() && type.rank() != 0) {
      return type_error("diff with a tensor of another rank");
    }
    sizes[dim] = sizes[dim] + (type.rank() == 0 ? SymInt(1) : type.sizes[dim]);
    dtype = promote(dtype, type.dtype);
  }
  std::int64_t times = call.integer("n");
  // nothing is put in front or behind of what is not taken apart
  if (times == 0) return tensor_result(self.dtype, self.sizes);
  if (times < 0 || times > max_differences) {
    return type_error(fmt::format("diff {} times; the limit is {}", times, max_differences));
  }
  sizes[dim] = sizes[dim] - times;
  if (sizes[dim].is_constant() && sizes[dim].value() < 0) sizes[dim] = std::int64_t{0};
  return tensor_result(dtype, std::move(sizes));
}

// What diff() puts in front or behind; a number is as wide as the tensor.
Value* diff_edge(Builder& b, const OpCall& call, std::string_view name) {
  Value* edge = b.own(call.value(name));
  const TensorType& self = call.tensor("self");
  if (edge == nullptr || edge->tensor().rank() == self.rank()) return edge;
  Dims sizes = self.sizes;
  const auto dim = wrap_dim(call.integer("dim"), self.rank());
  if (dim) sizes[*dim] = SymInt(1);
  return b.call("aten.expand.default", {edge, sizes});
}
Replacement diff(Builder& b, const OpCall& call) {
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  Value* x = b.own(call.value("self"));
  if (call.integer("n") == 0) return one(b.call("aten.alias.default", {x}));
  const Argument& dim = call["dim"];
  std::vector<Value*> parts{x};
  if (Value* before = diff_edge(b, call, "prepend")) parts.insert(parts.begin(), before);
  if (Value* behind = diff_edge(b, call, "append")) parts.push_back(behind);
  if (parts.size() > 1) x = b.call("aten.cat.default", {parts, dim});
  if (b.failed()) return Failure(b.status().error());
  bool is_bool = x->tensor().dtype == ScalarType::Bool;
  for (std::int64_t i = 0; i < call.integer("n"); ++i) {
    Value* later = b.call("aten.slice.Tensor", {x, dim, 1, end});
    Value* earlier = b.call("aten.slice.Tensor", {x, dim, 0, -1});
    x = is_bool ? b.call("aten.logical_xor.default", {later, earlier})
                : b.call("aten.sub.Tensor", {later, earlier});
  }
  return one(x);
}

constexpr OpRules reducing(const char* out, InferFunction infer) {
  return {.flags = core | reduction, .out = out, .infer = infer, .fit = with_dimension};
}

}  // namespace

std::span<const OpLine> reduction_ops() {
  static constexpr OpLine lines[] = {
      {"aten.sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
       "Tensor",
       reducing("sum.IntList_out", infer_sum)},
      {"aten.sum.default(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       composite(infer_sum, sum_all, reduction)},
      {"aten.mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       reducing("mean.out", infer_reduction)},
      {"aten.mean.default(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       composite(infer_reduction, mean_all, reduction)},
      {"aten.prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       reducing("prod.int_out", infer_sum)},
      {"aten.prod.default(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       reducing("prod.out", infer_sum)},
      {"aten.amax.default(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       reducing("amax.out", infer_reduction)},
      {"aten.amin.default(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       reducing("amin.out", infer_reduction)},
      {"aten.max.default(Tensor self) -> Tensor", reducing("max.unary_out", infer_scalar_like)},
      {"aten.min.default(Tensor self) -> Tensor", reducing("min.unary_out", infer_scalar_like)},
      {"aten.max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       reducing("max.dim_max", infer_dim_reduction_pair)},
      {"aten.min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       reducing("min.dim_min", infer_dim_reduction_pair)},
      {"aten.argmax.default(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       reducing("argmax.out", infer_arg_reduction)},
      {"aten.argmin.default(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       reducing("argmin.out", infer_arg_reduction)},
      {"aten.any.default(Tensor self) -> Tensor", reducing("any.all_out", infer_any)},
      {"aten.any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", reducing("any.out", infer_any)},
      {"aten.any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
       reducing("any.dims_out", infer_any)},
      {"aten.all.default(Tensor self) -> Tensor", composite(infer_any, all_default, reduction)},
      {"aten.all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
       composite(infer_any, all_dim, reduction)},
      {"aten.var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) "
       "-> Tensor",
       reducing("var.correction_out", infer_reduction)},
      {"aten.var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       composite(infer_reduction, variance, reduction)},
      {"aten.std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) "
       "-> Tensor",
       composite(infer_reduction, deviation, reduction)},
      {"aten.linalg_vector_norm.default(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       composite(infer_norm, vector_norm, reduction)},
      {"aten.norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
       composite(infer_norm, norm, reduction)},
      {"aten.cumsum.default(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
       fitted(with_dimension, kernel("cumsum.out", infer_cumulative))},
      {"aten.diff.default(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "
       "Tensor",
       composite(infer_diff, diff)},
      {"aten.histc.default(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", opaque(core)},
  };
  return lines;
}

}  // namespace depute::internal
