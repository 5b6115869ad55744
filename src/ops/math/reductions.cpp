// Reductions: sums, means, extremes and running sums over dimensions.
//
//   aten.mean.dim(f32[2, 3, 4], [-1], true)  ->  f32[2, 3, 1]
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/rename.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Computes all(x) as not any(not x).
Replacement all_by_any(Builder& b, const OpCall& call, std::string_view any) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  const bool is_byte = call.tensor("self").dtype == ScalarType::U8;  // bytes stay bytes
  args[0] = b.call("aten.logical_not.default", {call["self"]});
  Value* all = b.call("aten.logical_not.default", {b.call(any, args)});
  return one(to_dtype(b, all, is_byte ? ScalarType::U8 : ScalarType::Bool));
}

// True if the list of dimensions is empty, which here does not mean all dimensions.
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
  if (x->tensor().dtype == ScalarType::U8) {  // bytes stay bytes, of 0 and 1
    return one(b.call("aten._to_copy.default", {b.call("aten.ne.Scalar", {x, 0}), ScalarType::U8}));
  }
  return one(b.call("aten._to_copy.default", {x, ScalarType::Bool}));
}
Replacement all_dims_of(Builder& b, const OpCall& call) {
  return names_no_dims(call) ? any_dims(b, call) : all_by_any(b, call, "aten.any.dims");
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

// --- reversing a broadcast: sums over added and expanded dimensions

std::vector<std::int64_t> broadcast_dims(const Dims& sizes, const Dims& target) {
  std::size_t lead = sizes.size() - target.size();
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    bool is_spread = i < lead || (target[i - lead] == 1 && sizes[i] != 1);
    if (is_spread) dims.push_back(static_cast<std::int64_t>(i));
  }
  return dims;
}
Types infer_sum_to_size(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Dims target = as_dims(call["size"]);
  if (target.size() > self.rank())
    return argument_error("sum_to_size to more dimensions than the tensor has");
  const bool adds_nothing = !target.empty() && broadcast_dims(self.sizes, target).empty();
  const bool keeps = adds_nothing || is_floating(self.dtype) || is_complex(self.dtype);
  return tensor_result(keeps ? self.dtype : ScalarType::I64, std::move(target));
}
Replacement sum_to_size(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_sum_to_size(call));
  const Dims& target = types[0].tensor.sizes;
  std::vector<std::int64_t> dims = broadcast_dims(call.tensor("self").sizes, target);
  if (dims.empty()) {
    bool is_same = types[0].tensor.dtype == call.tensor("self").dtype;
    if (is_same) return one(b.call("aten.alias.default", {call["self"]}));
    return one(b.call("aten._to_copy.default", {call["self"], types[0].tensor.dtype}));
  }
  Value* sum = b.call("aten.sum.dim_IntList", {call["self"], dims, true});
  return one(reshape(b, sum, target));
}

constexpr OpRules reducing(const char* out, InferFunction infer, DecomposeFunction decompose = nullptr) {
  return {
      .flags = Core | Reduction, .out = out, .infer = infer, .decompose = decompose, .fit = with_dimension};
}
constexpr OpRules summing(const char* out, InferFunction infer) {
  return fitted(sum_in_f32, reducing(out, infer));
}

}  // namespace

std::span<const OpLine> reduction_ops() {
  static constexpr OpLine lines[] = {
      {"aten.sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)",
       on_complex(each_part, summing("sum.IntList_out", infer_sum))},
      {"aten.sum(Tensor self, *, ScalarType? dtype=None)",
       composite(infer_sum, text<"sum.dim_IntList(self, dims(self), false, dtype)">, Reduction)},
      {"aten.sum_to_size(Tensor self, SymInt[] size)", composite(infer_sum_to_size, sum_to_size, MayView)},
      {"aten.mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)",
       on_complex(each_part, summing("mean.out", infer_reduction))},
      {"aten.mean(Tensor self, *, ScalarType? dtype=None)",
       written_by("mean.dtype_out",
                  composite(infer_reduction, text<"mean.dim(self, dims(self), false, dtype)">, Reduction))},
      {"aten.prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)",
       in_autocast(AutocastF32, summing("prod.int_out", infer_sum))},
      {"aten.prod(Tensor self, *, ScalarType? dtype=None)",
       in_autocast(AutocastF32, summing("prod.out", infer_sum))},
      {"aten.amax(Tensor self, int[1] dim=[], bool keepdim=False)",
       fitted(extreme_beside_empty, reducing("amax.out", infer_reduction))},
      {"aten.amin(Tensor self, int[1] dim=[], bool keepdim=False)",
       fitted(extreme_beside_empty, reducing("amin.out", infer_reduction))},
      {"aten.max(Tensor self)", reducing("max.unary_out", infer_scalar_like)},
      {"aten.min(Tensor self)", reducing("min.unary_out", infer_scalar_like)},
      {"aten.max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       written_by("max.dim_max: max max_values", reducing("max.dim_max", infer_dim_reduction_pair))},
      {"aten.min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       written_by("min.dim_min: min min_indices", reducing("min.dim_min", infer_dim_reduction_pair))},
      {"aten.argmax(Tensor self, int? dim=None, bool keepdim=False)",
       reducing("argmax.out", infer_arg_reduction)},
      {"aten.argmin(Tensor self, int? dim=None, bool keepdim=False)",
       reducing("argmin.out", infer_arg_reduction)},
      {"aten.any(Tensor self)", on_complex(of_truth, reducing("any.all_out", infer_any))},
      {"aten.any.dim(Tensor self, int dim, bool keepdim=False)",
       on_complex(of_truth, reducing("any.out", infer_any))},
      {"aten.any.dims(Tensor self, int[]? dim=None, bool keepdim=False)",
       on_complex(of_truth, reducing("any.dims_out", infer_any_dims, any_dims))},
      {"aten.all(Tensor self)",
       written_by("all.all_out",
                  composite(infer_any, given<all_by_any, Text("aten.any.default")>, Reduction))},
      {"aten._is_all_true", renamed<"aten.all.default">(Reduction)},
      {"aten._is_any_true", renamed<"aten.any.default">(Reduction)},
      {"aten.all.dim(Tensor self, int dim, bool keepdim=False)",
       written_by("all.out", composite(infer_any, given<all_by_any, Text("aten.any.dim")>, Reduction))},
      {"aten.all.dims(Tensor self, int[]? dim=None, bool keepdim=False)",
       composite(infer_any_dims, all_dims_of, Reduction)},
      {"aten.cumsum(Tensor self, int dim, *, ScalarType? dtype=None)",
       row_by_row(on_complex(each_part,
                             fitted(sum_in_f32, kernel("cumsum.out", infer_cumulative, InPlaceVariant))))},
  };
  return lines;
}

}  // namespace depute::internal
