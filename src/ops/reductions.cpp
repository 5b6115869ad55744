// Reductions: sums, means, extremes, norms and running sums over dimensions.
//
//   aten.mean.dim(f32[2, 3, 4], [-1], true)  ->  f32[2, 3, 1]
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "depute/builder.h"
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

// The runtime's kernels do not take tensors without dimensions, which are sums and means of themselves.
Replacement reduce_nothing(Builder& b, const OpCall& call) {
  if (call.tensor("self").rank() > 0) return std::vector<Value*>{};
  TRY(std::vector<Type> types, call.def().infer(call));
  return one(b.call("aten._to_copy.default", {call["self"], types[0].tensor.dtype}));
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

// Unlike elsewhere, no dimensions are not all of them.
bool names_no_dims(const OpCall& call) {
  return call["dim"].is_list() && call["dim"].as_list().empty();
}
Types infer_any_dims(const OpCall& call) {
  if (!names_no_dims(call)) return infer_any(call);
  const TensorType& self = call.tensor("self");
  return tensor_result(self.dtype == ScalarType::U8 ? ScalarType::U8 : ScalarType::Bool, self.sizes);
}
Replacement any_dims(Builder& b, const OpCall& call) {
  if (!names_no_dims(call)) return std::vector<Value*>{};
  const Value* x = call.value("self");
  if (x->tensor().dtype == ScalarType::U8) return one(b.call("aten.alias.default", {x}));
  return one(b.call("aten._to_copy.default", {x, ScalarType::Bool}));
}
Replacement all_dims_of(Builder& b, const OpCall& call) {
  return names_no_dims(call) ? any_dims(b, call) : all_by_any("aten.any.dims", b, call);
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
  if (x->tensor().dtype != dtype) x = b.call("aten._to_copy.default", {x, dtype});
  if (b.failed()) return Failure(b.status().error());
  Argument dims = call["dim"];
  if (dims.is_none()) dims = b.graph().int_list(all_dims(call));
  return one(p_norm(b, x, p, dims, call["keepdim"]));
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

constexpr OpRules reducing(const char* out, InferFunction infer, DecomposeFunction decompose = nullptr) {
  return {.flags = core | reduction, .out = out, .infer = infer, .decompose = decompose};
}

}  // namespace

std::span<const OpLine> reduction_ops() {
  static constexpr OpLine lines[] = {
      {"aten.sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
       "Tensor",
       reducing("sum.IntList_out", infer_sum, reduce_nothing)},
      {"aten.sum.default(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       composite(infer_sum, sum_all, reduction)},
      {"aten.mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       reducing("mean.out", infer_reduction, reduce_nothing)},
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
       reducing("any.dims_out", infer_any_dims, any_dims)},
      {"aten.all.default(Tensor self) -> Tensor", composite(infer_any, all_default, reduction)},
      {"aten.all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
       composite(infer_any, all_dim, reduction)},
      {"aten.all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
       composite(infer_any_dims, all_dims_of, reduction)},
      {"aten.linalg_vector_norm.default(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       composite(infer_norm, vector_norm, reduction)},
      {"aten.norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
       composite(infer_norm, norm, reduction)},
      {"aten.cumsum.default(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
       {.flags = core | inplace_twin,
        .out = "cumsum.out",
        .infer = infer_cumulative,
        .decompose = reduce_nothing}},
  };
  return lines;
}

}  // namespace depute::internal
