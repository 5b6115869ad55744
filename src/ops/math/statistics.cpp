// Reductions composed of sums, means and extremes: spread, logarithms of sums, counts, histograms, and
// variants that ignore NaN.
//
//   %y = aten.nansum.default(%x, [1])     ->     %n = aten.isnan.default(%x)
//                                                %w = aten.where.self(%n, 0, %x)
//                                                %y = aten.sum.dim_IntList(%w, [1])
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/math/complex_forms.h"
#include "ops/math/formula.h"
#include "ops/rename.h"
#include "ops/rule_text.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// Returns the dimensions of the call's `dim`; all if it lists none.
Result<Ints> dims_of(const OpCall& call) {
  TRY(std::vector<std::size_t> dims, wrap_dims(call["dim"], call.tensor("self").rank()));
  return Ints(dims.begin(), dims.end());
}

Term sum(const Term& x, const Ints& dims, bool keepdim) {
  return x.rank() == 0 ? Formula(x) : x.call("aten.sum.dim_IntList", {dims, keepdim});
}

// --- spread: variances use the runtime's kernel, deviations are their roots

std::vector<BuilderArgument> variance_arguments(const OpCall& call) {
  const OpDef& def = call.def();
  auto has = [&](std::string_view name) { return def.arg_index(Name(name)) >= 0; };
  Argument correction = Argument::of(1);
  if (has("correction") && !call["correction"].is_none()) correction = call["correction"];
  if (has("unbiased") && !call.boolean("unbiased")) correction = Argument::of(0);
  Argument dims = has("dim") ? call["dim"] : Argument::none();
  return {call["self"], dims, correction, has("keepdim") && call.boolean("keepdim")};
}
Types infer_spread(const OpCall& call) {
  const ScalarType own = call.tensor("self").dtype;
  if (!is_floating(own) && !is_complex(own))
    return type_error("the variance requires a floating-point tensor");
  TRY(std::vector<Type> types, infer_reduction(call));
  types[0].tensor.dtype = part_of(own);
  return types;
}

// Replaces a variance with too few elements, where the kernel differs from torch: NaN without elements, the squares
// divided by 0 where the correction is not below the number of elements.
Replacement variance_kernel(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  double correction = 1;
  if (!call["correction"].is_none()) {
    TRY(correction, constant_number(call, "correction"));
  }
  if (self.rank() == 0) {
    const Term x = tensor_operand(b, call, "self");
    return result(call, (x - x) / std::max(0.0, 1 - correction));
  }
  TRY(const std::vector<std::size_t> dims, wrap_dims(call["dim"], self.rank()));
  SymInt count = 1;
  for (const std::size_t dim : dims) count = count * self.sizes[dim];
  if (!count.is_constant()) return std::vector<Value*>{};
  if (count == 0) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    TRY(const std::vector<Type> types, infer_spread(call));
    return one(b.call("aten.full.default", {types[0].tensor.sizes, nan, types[0].tensor.dtype}));
  }
  if (correction < static_cast<double>(count.value())) return std::vector<Value*>{};
  Value* squares = b.call("aten.var.correction", {call["self"], call["dim"], 0, call["keepdim"]});
  return one(b.call("aten.div.Scalar", {squares, 0.0}));
}
Replacement variance(Builder& b, const OpCall& call) {
  return one(b.call("aten.var.correction", variance_arguments(call)));
}
// The variance may be out of the range of half precision.
Value* deviation_of(Builder& b, const OpCall& call) {
  std::vector<BuilderArgument> args = variance_arguments(call);
  args[0] = to_compute_type(b, call.value("self"));
  Value* root = b.call("aten.sqrt.default", {b.call("aten.var.correction", args)});
  return to_dtype(b, root, part_of(call.tensor("self").dtype));
}
Replacement deviation(Builder& b, const OpCall& call) {
  return one(deviation_of(b, call));
}
Replacement with_mean(Builder& b, const OpCall& call, bool has_root) {
  std::vector<BuilderArgument> args = variance_arguments(call);
  Value* spread = has_root ? deviation_of(b, call) : b.call("aten.var.correction", args);
  Ints dims;
  if (call.def().arg_index(Name("dim")) >= 0) {
    TRY(dims, dims_of(call));
  } else {
    for (std::size_t i = 0; i < call.tensor("self").rank(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  }
  return std::vector<Value*>{spread, b.call("aten.mean.dim", {call["self"], dims, args[3]})};
}

// --- logarithms of sums: the largest term is factored out, unless it is infinite

Types infer_logsumexp(const OpCall& call) {
  TRY(std::vector<Type> types, infer_reduction(call));
  ScalarType& dtype = types[0].tensor.dtype;
  if (!is_floating(dtype) && !is_complex(dtype)) dtype = ScalarType::F32;
  return types;
}
Replacement logsumexp(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  x = x.to(computing_type(x.dtype()));
  if (x.rank() == 0) return result(call, x);
  TRY(Ints dims, dims_of(call));
  bool keepdim = call.boolean("keepdim");
  if (call.tensor("self").static_numel() == 0) return result(call, log(sum(exp(x), dims, keepdim)));
  Term largest = x.call("aten.amax.default", {dims, true});
  largest = where(abs(largest) == infinity, 0.0, largest);
  Term logarithm = log(sum(exp(x - largest), dims, keepdim));
  if (!keepdim) largest = largest.call("aten.squeeze.dims", {dims});
  return result(call, logarithm + largest);
}

// --- extremes and counts

Replacement aminmax(Builder& b, const OpCall& call) {
  TRY(Ints dims, dims_of(call));
  if (call.tensor("self").rank() == 0) {
    Value* x = b.own(call.value("self"));
    return std::vector<Value*>{x, x};
  }
  return std::vector<Value*>{b.call("aten.amin.default", {call["self"], dims, call["keepdim"]}),
                             b.call("aten.amax.default", {call["self"], dims, call["keepdim"]})};
}

Replacement count_nonzero(Builder& b, const OpCall& call) {
  TRY(Ints dims, dims_of(call));
  return one(sum(tensor_operand(b, call, "self") != 0, dims, false).to(ScalarType::I64).value());
}

// --- ignoring NaN

Term without_nan(const Term& x) {
  return is_floating(x.dtype()) ? where(is_nan(x), 0.0, x) : Formula(x);
}
Replacement nanmean(Builder& b, const OpCall& call) {
  Term x = tensor_operand(b, call, "self");
  if (!is_floating(x.dtype())) return type_error("nanmean of integers");
  TRY(Ints dims, dims_of(call));
  x = x.to(computing_type(dtype_or(call, x.dtype())));
  bool keepdim = call.boolean("keepdim");
  Term count = sum((!is_nan(x)).to(x.dtype()), dims, keepdim);
  return result(call, sum(without_nan(x), dims, keepdim) / count);
}

// --- histograms

Types infer_histc(const OpCall& call) {
  return tensor_result(call.tensor("self").dtype, {call.integer("bins")});
}
// Each element adds one to its bin; elements out of range add nothing.
Replacement histc(Builder& b, const OpCall& call) {
  TRY(double low, constant_number(call, "min"));
  TRY(double high, constant_number(call, "max"));
  std::int64_t bins = call.integer("bins");
  if (bins <= 0) return argument_error(fmt::format("{} bins", bins));
  Term x = tensor_operand(b, call, "self").call("aten.view.default", {Ints{-1}});
  ScalarType dtype = x.dtype();
  x = x.to(computing_type(dtype));
  Term first(b, b.call("aten.full.default", {Ints{}, low, x.dtype()}));
  Term last(b, b.call("aten.full.default", {Ints{}, high, x.dtype()}));
  if (low == high) {
    if (call.tensor("self").static_numel() != 0) {
      first = x.call("aten.amin.default", {Ints{0}});
      last = x.call("aten.amax.default", {Ints{0}});
    }
    Term is_point = (first == last).to(x.dtype());
    first = first - is_point;
    last = last + is_point;
  }
  Term bin = trunc((x - first) * static_cast<double>(bins) / (last - first));
  bin = where(is_nan(bin), 0.0, bin).call("aten.clamp.default", {0, bins - 1}).to(ScalarType::I64);
  Term is_inside = (x >= first) & (x <= last);
  Term counts(b, b.call("aten.full.default", {Ints{bins}, 0, x.dtype()}));
  return result(call,
                counts.call("aten.scatter_add.default", {0, bin.value(), is_inside.to(x.dtype()).value()}));
}

constexpr OpRules spread_rules(DecomposeFunction decompose) {
  return composite(infer_spread, decompose, Reduction);
}
constexpr OpRules pair_rules(DecomposeFunction decompose) {
  return derived(decompose, Reduction);
}

}  // namespace

std::span<const OpLine> statistics_ops() {
  static constexpr OpLine lines[] = {
      {"aten.var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
       on_complex(complex_variance, {.flags = Core | Reduction,
                                     .out = "var.correction_out",
                                     .infer = infer_spread,
                                     .decompose = variance_kernel,
                                     .accepts = "self f32 f64"})},  // the kernel sums f16 in f16
      {"aten.var(Tensor self, bool unbiased=True)", spread_rules(variance)},
      {"aten.var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
       written_by("var.out", spread_rules(variance))},
      {"aten.std(Tensor self, bool unbiased=True)", spread_rules(deviation)},
      {"aten.std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
       written_by("std.out", spread_rules(deviation))},
      {"aten.std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
       spread_rules(deviation)},
      {"aten.var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       pair_rules(given<with_mean, false>)},
      {"aten.var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, "
       "Tensor)",
       pair_rules(given<with_mean, false>)},
      {"aten.var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
       "keepdim=False) -> (Tensor, Tensor)",
       pair_rules(given<with_mean, false>)},
      {"aten.std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       pair_rules(given<with_mean, true>)},
      {"aten.std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, "
       "Tensor)",
       pair_rules(given<with_mean, true>)},
      {"aten.std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
       "keepdim=False) -> (Tensor, Tensor)",
       pair_rules(given<with_mean, true>)},
      {"aten.logsumexp(Tensor self, int[1] dim, bool keepdim=False)",
       composite(infer_logsumexp, logsumexp, Reduction)},
      {"aten.special_logsumexp", renamed<"aten.logsumexp.default">()},
      {"aten.aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
       derived(aminmax, Reduction)},
      {"aten.count_nonzero(Tensor self, int? dim=None)", derived(count_nonzero)},
      {"aten.count_nonzero.dim_IntList(Tensor self, int[] dim)", derived(count_nonzero)},
      {"aten.nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
       composite(infer_sum,
                 text<"numbers = is_float(self) ? where(isnan(self), 0.0, self) : self; "
                      "sum.dim_IntList(numbers, dim, keepdim, dtype)">,
                 Reduction)},
      {"aten.nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
       composite(infer_reduction, nanmean, Reduction)},
      {"aten.histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0)", composite(infer_histc, histc)},
  };
  return lines;
}

}  // namespace depute::internal
