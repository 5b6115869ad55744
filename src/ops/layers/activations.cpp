// Activation functions, softmax and dropout.
#include <algorithm>
#include <cmath>
#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/math/complex_functions.h"
#include "ops/math/formula.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

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
  const Value* self = call.value("self");
  const bool is_tensor = self != nullptr && self->type().is_tensor();
  const ScalarType dtype = is_tensor ? self->tensor().dtype : promoted_type(call);
  const bool is_cut =
      limit.kind == Argument::Kind::Float && is_integral(dtype) && std::fabs(limit.as_double()) < 0x1p63;
  return is_cut ? Argument::of(static_cast<std::int64_t>(limit.as_double())) : limit;
}
Replacement threshold(Builder& b, const OpCall& call) {
  Value* is_low = b.call("aten.le.Scalar", {call["self"], limit_of(call)});
  return one(b.call("aten.where.self", {is_low, call["value"], call["self"]}));
}

Replacement glu(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY(std::size_t dim, dim_of(call, "dim", self));
  const SymInt& size = self.sizes[dim];
  if (size.is_constant() && size.value() % 2 != 0)
    return argument_error("glu requires an even size along dim");
  const SymInt half = floor_div(size, 2);
  std::vector<Value*> halves = b.call_all("aten.split_with_sizes.default",
                                          {call["self"], Dims{half, half}, static_cast<std::int64_t>(dim)});
  return one(b.call("aten.mul.Tensor", {halves[0], b.call("aten.sigmoid.default", {halves[1]})}));
}

// The slope is the mean of both limits; in training mode it is random, which fails.
Replacement rrelu(Builder& b, const OpCall& call) {
  if (call.boolean("training")) {
    return type_error("rrelu is random in training mode; export the model after model.eval()");
  }
  TRY(double lower, constant_number(call, "lower"));
  TRY(double upper, constant_number(call, "upper"));
  constexpr Argument::Kind truth = Argument::Kind::Bool;  // true + true is true, 1
  const bool are_bools = call["lower"].kind == truth && call["upper"].kind == truth;
  const double slope = (are_bools ? std::max(lower, upper) : lower + upper) / 2;
  return one(b.call("aten.leaky_relu.default", {call["self"], slope}));
}

// The kernel takes no slope that its type does not hold, and leaves 0 as it is where the slope is infinite.
Replacement leaky_relu_in_range(Builder& b, const OpCall& call) {
  const ScalarType dtype = call.tensor("self").dtype;
  const Argument& slope = call["negative_slope"];
  if (slope.is_number() && !std::isfinite(slope.as_double())) {
    Value* is_positive = b.call("aten.gt.Scalar", {call["self"], 0});
    Value* product = b.call("aten.mul.Tensor", {call["self"], slope.as_double()});
    return one(b.call("aten.where.self", {is_positive, call["self"], product}));
  }
  constexpr double most = 65504;  // of f16
  if (dtype != ScalarType::F16 || !slope.is_number() || std::abs(slope.as_double()) <= most)
    return std::vector<Value*>{};
  Value* x = to_dtype(b, b.own(call.value("self")), ScalarType::F32);
  return one(to_dtype(b, b.call("aten.leaky_relu.default", {x, slope.as_double()}), dtype));
}

// --- softmax: computed in `dtype` if that is given

Types infer_softmax(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  TRY_STATUS(wrap_dim(call.integer("dim"), self.rank()));
  return tensor_result(dtype_or(call, self.dtype), self.sizes);
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
    return argument_error("the gradient's sizes must equal the output's");
  if (call.def().arg_index(Name("input_dtype")) >= 0) dtype = call["input_dtype"].as_scalar_type();
  return tensor_result(dtype, call.tensor("grad_output").sizes);
}
Replacement dropout_backward(Builder& b, const OpCall& call) {
  Value* gradient =
      to_compute_type(b, call.value("grad_output"));  // the scale may be out of the range of f16
  Value* mask = to_dtype(b, b.own(call.value("mask")), gradient->tensor().dtype);
  Value* kept = b.call("aten.mul.Tensor", {gradient, mask});
  return one(to_dtype(b, b.call("aten.mul.Tensor", {kept, call["scale"]}), call.tensor("grad_output").dtype));
}
Replacement threshold_backward(Builder& b, const OpCall& call) {
  const ScalarType dtype = promoted_type(call);
  const Argument limit = is_floating(dtype) ? call["threshold"] : limit_of(call);
  BuilderArgument self = call["self"];
  if (call["self"].is_value()) self = to_dtype(b, b.own(call.value("self")), dtype);
  Value* is_low = b.call("aten.le.Scalar", {self, limit});
  return one(b.call("aten.where.self", {is_low, 0, call["grad_output"]}));
}

// --- dropout does nothing outside training

Replacement dropout(Builder& b, const OpCall& call) {
  if (call.boolean("train") && call.number("p") != 0) {
    return type_error("dropout is random in training mode; export the model after model.eval()");
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
      {"aten.relu(Tensor self)", unary("relu.out", InPlaceVariant)},
      {"aten.relu6(Tensor self)", composite_pointwise(text<"hardtanh(self, 0, 6)">, InPlaceVariant)},
      {"aten.hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)",
       {.flags = Core | Pointwise | InPlaceVariant,
        .out = "hardtanh.out",
        .infer = infer_like_first,
        .decompose = hardtanh_between}},
      {"aten.leaky_relu(Tensor self, Scalar negative_slope=0.01)",
       fitted(leaky_relu_in_range, unary("leaky_relu.out", InPlaceVariant))},
      {"aten.elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)",
       unary("elu.out", InPlaceVariant)},
      {"aten.gelu(Tensor self, *, str approximate=\"none\")", unary("gelu.out", InPlaceVariant)},
      {"aten.sigmoid(Tensor self)",
       on_complex(complex_function<sigmoid>, unary_float("sigmoid.out", InPlaceVariant))},
      {"aten.tanh(Tensor self)", on_complex(complex_function<tanh>, unary_float("tanh.out", InPlaceVariant))},
      {"aten.logit(Tensor self, float? eps=None)",
       accepting("self f32 f64", unary_float("logit.out", InPlaceVariant))},
      {"aten.silu(Tensor self)", composite_pointwise(text<"self * sigmoid(self)">, InPlaceVariant)},
      {"aten.hardsigmoid(Tensor self)", composite_pointwise(text<"relu6_of(self + 3) / 6">, InPlaceVariant)},
      {"aten.hardswish(Tensor self)",
       composite_pointwise(text<"self * (relu6_of(self + 3) / 6)">, InPlaceVariant)},
      {"aten.selu(Tensor self)",
       composite_pointwise(
           text<"elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)">,
           InPlaceVariant)},
      {"aten.celu(Tensor self, Scalar alpha=1.)",
       composite_pointwise(text<"elu(self, known(alpha), 1.0, 1.0 / known(alpha))">, InPlaceVariant)},
      {"aten.softplus(Tensor self, Scalar beta=1, Scalar threshold=20)",
       composite_pointwise(text<"softplus_of(self, known(beta), known(threshold))">)},
      {"aten.mish(Tensor self)",
       composite_pointwise(text<"self * tanh(softplus_of(self, 1.0, 20.0))">, InPlaceVariant)},
      {"aten.log_sigmoid(Tensor self)",
       composite_pointwise(
           text<"decay = exp(-abs(self)); negative = clamp(self, none, 0); negative - log1p(decay)">)},
      {"aten.softshrink(Tensor self, Scalar lambd=0.5)",
       composite_pointwise(text<"step = sign(self) * lambd; is_within = le.Scalar(abs(self), lambd); "
                                "where(is_within, 0, self - step)">)},
      {"aten.hardshrink(Tensor self, Scalar lambd=0.5)",
       composite_pointwise(text<"where(le.Scalar(abs(self), lambd), 0, self)">)},
      {"aten.prelu(Tensor self, Tensor weight)",
       in_autocast(AutocastLower, composite(infer_same_type, prelu))},
      {"aten._prelu_kernel(Tensor self, Tensor weight)",
       composite_pointwise(text<"is_positive = self > 0; where(is_positive, self, weight * self)">)},
      {"aten.rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
       "Generator? generator=None)",
       composite(infer_same_type, rrelu, InPlaceVariant)},
      {"aten.threshold(Tensor self, Scalar threshold, Scalar value)",
       composite_pointwise(threshold, InPlaceVariant)},
      {"aten.glu(Tensor self, int dim=-1)", derived(glu)},
      {"aten.softmax.int(Tensor self, int dim, ScalarType? dtype=None)",
       composite(infer_softmax, text<"_softmax(to(self, dtype == none ? dtype(self) : dtype), dim, false)">)},
      {"aten.log_softmax.int(Tensor self, int dim, ScalarType? dtype=None)",
       composite(infer_softmax,
                 text<"_log_softmax(to(self, dtype == none ? dtype(self) : dtype), dim, false)">)},
      {"aten._softmax(Tensor self, int dim, bool half_to_float)",
       row_by_row(kernel("_softmax.out", infer_core_softmax))},
      {"aten._log_softmax(Tensor self, int dim, bool half_to_float)",
       row_by_row(fitted(log_softmax_for_kernel, kernel("_log_softmax.out", infer_core_softmax)))},
      {"aten._softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)",
       written_by(
           "_softmax_backward_data.out: grad_input",
           composite(infer_backward,
                     text<"y = computed(output); product = computed(grad_output) * y; sum = "
                          "sum.dim_IntList(product, [dim], true); to(product - y * sum, input_dtype)">))},
      {"aten._log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)",
       composite(infer_backward,
                 text<"gradient = computed(grad_output); y = exp(computed(output)); sum = "
                      "sum.dim_IntList(gradient, [dim], true); to(gradient - y * sum, input_dtype)">)},
      {"aten.native_dropout_backward(Tensor grad_output, Tensor mask, float scale)",
       composite(infer_backward, dropout_backward)},
      {"aten.sigmoid_backward(Tensor grad_output, Tensor output)",
       written_by("sigmoid_backward.grad_input: grad_input",
                  formula(computed_text<"slope = (1 - output) * output; "
                                        "grad_output * (is_complex(output) ? _conj(slope) : slope)">,
                          None, "grad_output output"))},
      {"aten.threshold_backward(Tensor grad_output, Tensor self, Scalar threshold)",
       {.flags = Pointwise,
        .promotes = "grad_output self",
        .infer = infer_promoted,
        .decompose = threshold_backward}},
      {"aten.dropout(Tensor input, float p, bool train)", dropout_rules()},
      {"aten.alpha_dropout(Tensor input, float p, bool train)", dropout_rules()},
      {"aten.feature_dropout(Tensor input, float p, bool train)", dropout_rules()},
      {"aten.feature_alpha_dropout(Tensor input, float p, bool train)", dropout_rules()},
      {"aten.dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.dropout.default"}},
      {"aten.alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.alpha_dropout.default"}},
      {"aten.feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.feature_dropout.default"}},
      {"aten.feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       {.infer = infer_same_type, .functional = "aten.feature_alpha_dropout.default"}},
  };
  return lines;
}

}  // namespace depute::internal
