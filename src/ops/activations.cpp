// Activation functions, softmax and dropout.
#include <algorithm>
#include <cmath>
#include <limits>

#include "depute/builder.h"
#include "ops/complex_functions.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/op_table.h"
#include "ops/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Replacement relu6(Builder& b, const OpCall& call) {
  return one(b.call("aten.hardtanh.default", {call["self"], 0, 6}));
}

Replacement silu(Builder& b, const OpCall& call) {
  return one(b.call("aten.mul.Tensor", {call["self"], b.call("aten.sigmoid.default", {call["self"]})}));
}

// If the limits are reversed, the lower one has no effect: clamp handles this, unlike the kernel. A limit of NaN
// makes every element NaN. Limits of bytes are cut to integers.
Replacement hardtanh_between(Builder& b, const OpCall& call) {
  if (!call["min_val"].is_number() || !call["max_val"].is_number()) return std::vector<Value*>{};
  const double low = call.number("min_val"), high = call.number("max_val");
  const bool is_byte = call.tensor("self").dtype == ScalarType::U8;
  if (std::isnan(low + high) && is_floating(call.tensor("self").dtype))
    return one(b.call("aten.full_like.default", {call["self"], std::numeric_limits<double>::quiet_NaN()}));
  if (low <= high && !is_byte) return std::vector<Value*>{};
  const auto limit = [&](double x) {
    return is_byte ? Argument::of(static_cast<std::int64_t>(std::clamp(x, -256.0, 256.0))) : Argument::of(x);
  };
  return one(b.call("aten.clamp.default", {call["self"], limit(low), limit(high)}));
}

// min(max(x + 3, 0), 6)
Value* shifted_relu6(Builder& b, const OpCall& call) {
  return b.call("aten.hardtanh.default", {b.call("aten.add.Tensor", {call["self"], 3}), 0, 6});
}
Replacement hardsigmoid(Builder& b, const OpCall& call) {
  return one(b.call("aten.div.Tensor", {shifted_relu6(b, call), 6}));
}
Replacement hardswish(Builder& b, const OpCall& call) {
  Value* share = b.call("aten.div.Tensor", {shifted_relu6(b, call), 6});  // the product may be out of range
  return one(b.call("aten.mul.Tensor", {call["self"], share}));
}

Replacement selu(Builder& b, const OpCall& call) {
  constexpr double alpha = 1.6732632423543772848170429916717;
  constexpr double scale = 1.0507009873554804934193349852946;
  return one(b.call("aten.elu.default", {call["self"], alpha, scale}));
}
Replacement celu(Builder& b, const OpCall& call) {
  TRY(double alpha, constant_number(call, "alpha"));
  return one(b.call("aten.elu.default", {call["self"], alpha, 1.0, 1.0 / alpha}));
}

// log(1 + exp(beta * x)) / beta, or x itself where this could overflow
Value* softplus_of(Builder& b, Value* x, double beta, double threshold) {
  Value* scaled = beta == 1 ? x : b.call("aten.mul.Tensor", {x, beta});
  Value* soft = b.call("aten.log1p.default", {b.call("aten.exp.default", {scaled})});
  if (beta != 1) soft = b.call("aten.div.Tensor", {soft, beta});
  return b.call("aten.where.self", {b.call("aten.gt.Scalar", {scaled, threshold}), x, soft});
}
Replacement softplus(Builder& b, const OpCall& call) {
  TRY(double beta, constant_number(call, "beta"));
  TRY(double threshold, constant_number(call, "threshold"));
  return one(softplus_of(b, b.own(call.value("self")), beta, threshold));
}
Replacement mish(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  return one(b.call("aten.mul.Tensor", {x, b.call("aten.tanh.default", {softplus_of(b, x, 1, 20)})}));
}

// min(x, 0) - log(1 + exp(-|x|))
Replacement log_sigmoid(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  Value* decay = b.call("aten.exp.default", {b.call("aten.neg.default", {b.call("aten.abs.default", {x})})});
  Value* negative = b.call("aten.clamp.default", {x, Argument::none(), 0});
  return one(b.call("aten.sub.Tensor", {negative, b.call("aten.log1p.default", {decay})}));
}

Value* is_within(Builder& b, const OpCall& call) {
  return b.call("aten.le.Scalar", {b.call("aten.abs.default", {call["self"]}), call["lambd"]});
}
Replacement softshrink(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  Value* step = b.call("aten.mul.Tensor", {b.call("aten.sign.default", {x}), call["lambd"]});
  return one(b.call("aten.where.self", {is_within(b, call), 0, b.call("aten.sub.Tensor", {x, step})}));
}
Replacement hardshrink(Builder& b, const OpCall& call) {
  return one(b.call("aten.where.self", {is_within(b, call), 0, call["self"]}));
}

// One weight per channel, which is dimension 1.
Replacement prelu(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  Value* weight = b.own(call.value("weight"));
  std::size_t rank = x->tensor().rank();
  if (rank == 0) weight = b.view(weight, {});
  if (rank > 1 && weight->tensor().numel() != 1) {
    Dims sizes(rank, SymInt(1));
    sizes[1] = weight->tensor().numel();
    weight = b.view(weight, sizes);
  }
  if (rank == 0) weight = b.view(weight, {});
  Value* is_positive = b.call("aten.gt.Scalar", {x, 0});
  return one(b.call("aten.where.self", {is_positive, x, b.call("aten.mul.Tensor", {weight, x})}));
}

// Returns the threshold; for integer tensors a float is truncated.
Argument limit_of(const OpCall& call) {
  const Argument& limit = call["threshold"];
  const bool is_cut = limit.kind == Argument::Kind::Float && is_integral(call.tensor("self").dtype) &&
                      std::fabs(limit.as_double()) < 0x1p63;
  return is_cut ? Argument::of(static_cast<std::int64_t>(limit.as_double())) : limit;
}
Replacement threshold(Builder& b, const OpCall& call) {
  Value* is_low = b.call("aten.le.Scalar", {call["self"], limit_of(call)});
  return one(b.call("aten.where.self", {is_low, call["value"], call["self"]}));
}

Types infer_glu(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  Dims sizes = self.sizes;
  SymInt& size = sizes[dim];
  if (size.is_constant() && size.value() % 2 != 0) return argument_error("glu halves an odd size");
  size = floor_div(size, 2);
  return tensor_result(self.dtype, std::move(sizes));
}
Replacement glu(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  SymInt half = floor_div(self.sizes[dim], 2);
  std::vector<Value*> halves = b.call_all("aten.split_with_sizes.default",
                                          {call["self"], Dims{half, half}, static_cast<std::int64_t>(dim)});
  if (b.failed()) return failure_of(b);
  return one(b.call("aten.mul.Tensor", {halves[0], b.call("aten.sigmoid.default", {halves[1]})}));
}

// The slope is the mean of both limits; in training mode it is random, which fails.
Replacement rrelu(Builder& b, const OpCall& call) {
  if (call.boolean("training")) {
    return type_error("rrelu in training mode is random; export the model after model.eval()");
  }
  TRY(double lower, constant_number(call, "lower"));
  TRY(double upper, constant_number(call, "upper"));
  constexpr Argument::Kind truth = Argument::Kind::Bool;  // true + true is true, 1
  const bool are_bools = call["lower"].kind == truth && call["upper"].kind == truth;
  const double slope = (are_bools ? std::max(lower, upper) : lower + upper) / 2;
  return one(b.call("aten.leaky_relu.default", {call["self"], slope}));
}

// The kernel takes no slope that its type does not hold.
Replacement leaky_relu_in_range(Builder& b, const OpCall& call) {
  const ScalarType dtype = call.tensor("self").dtype;
  const Argument& slope = call["negative_slope"];
  constexpr double most = 65504;  // of f16
  if (dtype != ScalarType::F16 || !slope.is_number() || std::abs(slope.as_double()) <= most)
    return std::vector<Value*>{};
  Value* x = to_dtype(b, b.own(call.value("self")), ScalarType::F32);
  return one(to_dtype(b, b.call("aten.leaky_relu.default", {x, slope.as_double()}), dtype));
}

// prelu with a weight that already broadcasts
Replacement prelu_kernel(Builder& b, const OpCall& call) {
  Value* is_positive = b.call("aten.gt.Scalar", {call["self"], 0});
  Value* scaled = b.call("aten.mul.Tensor", {call["weight"], call["self"]});
  return one(b.call("aten.where.self", {is_positive, call["self"], scaled}));
}

// --- softmax: computed in `dtype` if that is given

Types infer_softmax(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  return tensor_result(dtype_or(call, self.dtype), self.sizes);
}
Replacement softmax_by(std::string_view op, Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("self"));
  ScalarType dtype = dtype_or(call, x->tensor().dtype);
  if (dtype != x->tensor().dtype) x = b.call("aten._to_copy.default", {x, dtype});
  return one(b.call(op, {x, call["dim"], false}));
}
Replacement softmax(Builder& b, const OpCall& call) {
  return softmax_by("aten._softmax.default", b, call);
}
Replacement log_softmax(Builder& b, const OpCall& call) {
  return softmax_by("aten._log_softmax.default", b, call);
}
Types infer_core_softmax(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  return tensor_result(call.boolean("half_to_float") ? ScalarType::F32 : self.dtype, self.sizes);
}

// --- gradients that models compute in their forward pass

Types infer_backward(const OpCall& call) {
  ScalarType dtype = call.tensor("grad_output").dtype;
  const bool has_output = call.def().arg_index(Name("output")) >= 0;
  if (has_output && call.tensor("output").sizes != call.tensor("grad_output").sizes)
    return argument_error("a gradient of other sizes than the output's");
  if (call.def().arg_index(Name("input_dtype")) >= 0) dtype = call["input_dtype"].as_scalar_type();
  return tensor_result(dtype, call.tensor("grad_output").sizes);
}
// g * y - y * sum(g * y)
Replacement softmax_backward(Builder& b, const OpCall& call) {
  Value* y = to_compute_type(b, call.value("output"));
  Value* product = b.call("aten.mul.Tensor", {to_compute_type(b, call.value("grad_output")), y});
  std::vector<std::int64_t> dims{call.integer("dim")};
  Value* sum = b.call("aten.sum.dim_IntList", {product, dims, true});
  Value* result = b.call("aten.sub.Tensor", {product, b.call("aten.mul.Tensor", {y, sum})});
  return one(to_dtype(b, result, call["input_dtype"].as_scalar_type()));
}
// g - exp(y) * sum(g)
Replacement log_softmax_backward(Builder& b, const OpCall& call) {
  Value* gradient = to_compute_type(b, call.value("grad_output"));
  Value* y = b.call("aten.exp.default", {to_compute_type(b, call.value("output"))});
  std::vector<std::int64_t> dims{call.integer("dim")};
  Value* sum = b.call("aten.sum.dim_IntList", {gradient, dims, true});
  Value* result = b.call("aten.sub.Tensor", {gradient, b.call("aten.mul.Tensor", {y, sum})});
  return one(to_dtype(b, result, call["input_dtype"].as_scalar_type()));
}
Replacement dropout_backward(Builder& b, const OpCall& call) {
  Value* gradient =
      to_compute_type(b, call.value("grad_output"));  // the scale may be out of the range of f16
  if (b.failed()) return failure_of(b);
  Value* mask = to_dtype(b, b.own(call.value("mask")), gradient->tensor().dtype);
  Value* kept = b.call("aten.mul.Tensor", {gradient, mask});
  return one(to_dtype(b, b.call("aten.mul.Tensor", {kept, call["scale"]}), call.tensor("grad_output").dtype));
}
Replacement threshold_backward(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  const Argument limit = is_floating(dtype) ? call["threshold"] : limit_of(call);
  Value* is_low = b.call("aten.le.Scalar", {to_dtype(b, b.own(call.value("self")), dtype), limit});
  return one(b.call("aten.where.self", {is_low, 0, call["grad_output"]}));
}

// --- dropout does nothing outside training

Replacement dropout(Builder& b, const OpCall& call) {
  if (call.boolean("train") && call.number("p") != 0) {
    return type_error("dropout in training mode is random; export the model after model.eval()");
  }
  return one(b.call("aten.alias.default", {call[0]}));
}
constexpr OpRules dropout_rules(OpFlag flags = None) {
  return {
      .flags = MayView | flags, .infer = infer_same_type, .decompose = dropout, .write_back = write_whole};
}

}  // namespace

std::span<const OpLine> activation_ops() {
  static constexpr OpLine lines[] = {
      {"aten.relu.default(Tensor self) -> Tensor", unary("relu.out", InPlaceVariant)},
      {"aten.relu6.default(Tensor self) -> Tensor", composite_pointwise(relu6, InPlaceVariant)},
      {"aten.hardtanh.default(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
       {.flags = Core | Pointwise | InPlaceVariant,
        .out = "hardtanh.out",
        .infer = infer_like_first,
        .decompose = hardtanh_between}},
      {"aten.leaky_relu.default(Tensor self, Scalar negative_slope=0.01) -> Tensor",
       fitted(leaky_relu_in_range, unary("leaky_relu.out", InPlaceVariant))},
      {"aten.elu.default(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
       unary("elu.out", InPlaceVariant)},
      {"aten.gelu.default(Tensor self, *, str approximate=\"none\") -> Tensor",
       unary("gelu.out", InPlaceVariant)},
      {"aten.sigmoid.default(Tensor self) -> Tensor",
       on_complex(complex_function<sigmoid>, unary_float("sigmoid.out", InPlaceVariant))},
      {"aten.tanh.default(Tensor self) -> Tensor",
       on_complex(complex_function<tanh>, unary_float("tanh.out", InPlaceVariant))},
      {"aten.logit.default(Tensor self, float? eps=None) -> Tensor",
       accepting("self f32 f64", unary_float("logit.out", InPlaceVariant))},
      {"aten.silu.default(Tensor self) -> Tensor", composite_pointwise(silu, InPlaceVariant)},
      {"aten.hardsigmoid.default(Tensor self) -> Tensor", composite_pointwise(hardsigmoid, InPlaceVariant)},
      {"aten.hardswish.default(Tensor self) -> Tensor", composite_pointwise(hardswish, InPlaceVariant)},
      {"aten.selu.default(Tensor self) -> Tensor", composite_pointwise(selu, InPlaceVariant)},
      {"aten.celu.default(Tensor self, Scalar alpha=1.) -> Tensor",
       composite_pointwise(celu, InPlaceVariant)},
      {"aten.softplus.default(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
       composite_pointwise(softplus)},
      {"aten.mish.default(Tensor self) -> Tensor", composite_pointwise(mish, InPlaceVariant)},
      {"aten.log_sigmoid.default(Tensor self) -> Tensor", composite_pointwise(log_sigmoid)},
      {"aten.softshrink.default(Tensor self, Scalar lambd=0.5) -> Tensor", composite_pointwise(softshrink)},
      {"aten.hardshrink.default(Tensor self, Scalar lambd=0.5) -> Tensor", composite_pointwise(hardshrink)},
      {"aten.prelu.default(Tensor self, Tensor weight) -> Tensor",
       in_autocast(AutocastLower, composite(infer_same_type, prelu))},
      {"aten._prelu_kernel.default(Tensor self, Tensor weight) -> Tensor", composite_pointwise(prelu_kernel)},
      {"aten.rrelu.default(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
       "training=False, Generator? generator=None) -> Tensor",
       composite(infer_same_type, rrelu, InPlaceVariant)},
      {"aten.threshold.default(Tensor self, Scalar threshold, Scalar value) -> Tensor",
       composite_pointwise(threshold, InPlaceVariant)},
      {"aten.glu.default(Tensor self, int dim=-1) -> Tensor", composite(infer_glu, glu)},
      {"aten.softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
       composite(infer_softmax, softmax)},
      {"aten.log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
       composite(infer_softmax, log_softmax)},
      {"aten._softmax.default(Tensor self, int dim, bool half_to_float) -> Tensor",
       row_by_row(kernel("_softmax.out", infer_core_softmax))},
      {"aten._log_softmax.default(Tensor self, int dim, bool half_to_float) -> Tensor",
       row_by_row(fitted(log_softmax_by_parts, kernel("_log_softmax.out", infer_core_softmax)))},
      {"aten._softmax_backward_data.default(Tensor grad_output, Tensor output, int dim, ScalarType "
       "input_dtype) -> Tensor",
       written_by("_softmax_backward_data.out: grad_input", composite(infer_backward, softmax_backward))},
      {"aten._log_softmax_backward_data.default(Tensor grad_output, Tensor output, int dim, ScalarType "
       "input_dtype) -> Tensor",
       composite(infer_backward, log_softmax_backward)},
      {"aten.native_dropout_backward.default(Tensor grad_output, Tensor mask, float scale) -> Tensor",
       composite(infer_backward, dropout_backward)},
      {"aten.threshold_backward.default(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
       {.flags = Pointwise,
        .promotes = "grad_output self",
        .infer = infer_promoted,
        .decompose = threshold_backward}},
      {"aten.dropout.default(Tensor input, float p, bool train) -> Tensor", dropout_rules()},
      {"aten.alpha_dropout.default(Tensor input, float p, bool train) -> Tensor", dropout_rules()},
      {"aten.feature_dropout.default(Tensor input, float p, bool train) -> Tensor", dropout_rules()},
      {"aten.feature_alpha_dropout.default(Tensor input, float p, bool train) -> Tensor", dropout_rules()},
      {"aten.dropout_.default(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.dropout.default"}},
      {"aten.alpha_dropout_.default(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.alpha_dropout.default"}},
      {"aten.feature_dropout_.default(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.feature_dropout.default"}},
      {"aten.feature_alpha_dropout_.default(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.feature_alpha_dropout.default"}},
  };
  return lines;
}

}  // namespace depute::internal
