// Losses between tensors of equal sizes, and similarity measures. Each is a pointwise expression and a
// reduction: 0 none, 1 mean, 2 sum. Half precision is computed in f32.
//
//   aten.mse_loss.default(%x, %y)  ->  mean((x - y)^2)
#include <cmath>
#include <numbers>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {

Value* reduce_loss(Builder& b, const OpCall& call, Value* loss, ScalarType dtype) {
  std::int64_t reduction = call.integer("reduction");
  if (reduction == 1) loss = b.call("aten.mean.default", {loss});
  if (reduction == 2) loss = b.call("aten.sum.default", {loss});
  return to_dtype(b, loss, part_of(dtype));
}

namespace {

Types infer_loss(const OpCall& call) {
  TRY(std::vector<Type> types, infer_promoted(call));
  types[0].tensor.dtype = part_of(types[0].tensor.dtype);
  if (call.integer("reduction") != 0) types[0].tensor.sizes.clear();
  return types;
}

using Expression = Value* (*)(Builder& b, const OpCall& call, Value* x, Value* y);

// Applies the expression to the first two arguments, in their promoted type.
template <Expression expression>
Replacement loss(Builder& b, const OpCall& call) {
  ScalarType dtype = promoted_type(call);
  Value* x = to_dtype(b, b.own(call.value(call.def().args[0].name.str())), compute_type(dtype));
  Value* y = to_dtype(b, b.own(call.value(call.def().args[1].name.str())), compute_type(dtype));
  return one(reduce_loss(b, call, expression(b, call, x, y), dtype));
}
template <Expression expression>
constexpr DecomposeFunction loss_of = loss<expression>;
constexpr OpRules loss_rules(const char* promotes, DecomposeFunction decompose, OpFlag flags = None) {
  return in_autocast(AutocastF32,
                     {.flags = flags, .promotes = promotes, .infer = infer_loss, .decompose = decompose});
}

Value* difference(Builder& b, Value* x, Value* y) {
  return b.call("aten.sub.Tensor", {x, y});
}
Value* times(Builder& b, const BuilderArgument& x, const BuilderArgument& y) {
  return b.call("aten.mul.Tensor", {x, y});
}

// max(margin - x, 0) except where y is 1, plus x except where y is -1
Value* hinge(Builder& b, const OpCall& call, Value* x, Value* y) {
  if (call.tensor("self").dtype == ScalarType::U8)
    b.fail(type_error("a hinge loss of u8 is not supported, because its differences wrap around").error());
  Argument margin = call["margin"];  // of integers torch takes the integer part
  if (is_integral(call.tensor("self").dtype) && margin.is_number())
    margin = Argument::of(static_cast<std::int64_t>(margin.as_double()));
  Value* shortfall = positive_part(b, b.call("aten.rsub.Scalar", {x, margin}));
  Value* near = zero_unless(b, b.call("aten.ne.Scalar", {y, 1}), shortfall);
  Value* far = zero_unless(b, b.call("aten.ne.Scalar", {y, -1}), x);
  return b.call("aten.add.Tensor", {near, far});
}

// max(margin - y * (x1 - x2), 0); for integers, y * (x1 - x2) is computed in integers
Value* margin_ranking(Builder& b, const OpCall& call, Value* x1, Value* x2) {
  const auto own = [&](std::string_view name, Value* wide) {
    Value* given = b.own(call.value(name));
    return is_floating(given->tensor().dtype) ? wide : given;
  };
  Value* apart = difference(b, own("input1", x1), own("input2", x2));
  Value* order = times(b, b.call("aten.neg.default", {call["target"]}), apart);
  return positive_part(b, b.call("aten.add.Tensor", {order, call["margin"]}));
}

// --- similarity

Types infer_cosine_embedding(const OpCall& call) {
  return tensor_result(promoted_type(call),
                       call.integer("reduction") == 0 ? call.tensor("target").sizes : Dims{});
}

// Returns the dot product of x1 / max(|x1|, eps) and x2 / max(|x2|, eps).
Replacement cosine_similarity(Builder& b, const OpCall& call) {
  ScalarType dtype = promoted_type(call);
  TRY(Dims sizes, broadcast(call.tensor("x1").sizes, call.tensor("x2").sizes));
  TRY(std::size_t wrapped, dim_of(call, "dim", {.dtype = dtype, .sizes = sizes}));
  auto unit = [&](std::string_view name) {
    Value* x = to_dtype(b, b.own(call.value(name)), compute_type(dtype));
    auto rank = static_cast<std::int64_t>(x->tensor().rank());
    std::int64_t dim = static_cast<std::int64_t>(wrapped) - static_cast<std::int64_t>(sizes.size());
    if (dim < -rank) x = with_rank(b, x, sizes.size());
    // Takes the norm over the broadcast length: a broadcast element counts repeatedly.
    if (x->tensor().sizes[x->tensor().rank() + dim] != sizes[wrapped])
      x = b.call("aten.expand.default", {x, sizes});
    Value* norm = b.call("aten.linalg_vector_norm.default", {x, 2, std::vector<std::int64_t>{dim}, true});
    return b.call("aten.div.Tensor", {x, b.call("aten.clamp.default", {norm, call["eps"]})});
  };
  std::vector<std::int64_t> dim{static_cast<std::int64_t>(wrapped)};
  Value* x1 = unit("x1");
  return one(to_dtype(b, b.call("aten.sum.dim_IntList", {times(b, x1, unit("x2")), dim}), dtype));
}

// Returns the norm of x1 - x2 + eps.
Replacement pairwise_distance(Builder& b, const OpCall& call) {
  ScalarType dtype = promoted_type(call);
  // Subtracts integers as integers: 1 - 2 of bytes is 255.
  Value* apart = to_dtype(b, difference(b, b.own(call.value("x1")), b.own(call.value("x2"))), dtype);
  Value* d = b.call("aten.add.Tensor", {to_compute_type(b, apart), call["eps"]});
  Value* norm = b.call("aten.linalg_vector_norm.default",
                       {d, call["p"], std::vector<std::int64_t>{-1}, call["keepdim"]});
  return one(to_dtype(b, norm, part_of(dtype)));
}

}  // namespace

std::span<const OpLine> loss_ops() {
  static constexpr OpLine lines[] = {
      {"aten.l1_loss(Tensor self, Tensor target, int reduction=1)",
       loss_rules("self target", computed_text<"reduced(abs(self - target))">)},
      {"aten.mse_loss(Tensor self, Tensor target, int reduction=1)",
       loss_rules("self target", computed_text<"d = self - target; reduced(d * d)">)},
      {"aten.smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.)",
       loss_rules("self target",
                  computed_text<"d = abs(self - target); bend = known(beta); reduced(bend == 0 ? d : bend == "
                                "1 ? bent_square(d, bend) : bent_square(d, bend) / bend)">)},
      {"aten.huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.)",
       loss_rules("self target", computed_text<"reduced(bent_square(abs(self - target), known(delta)))">)},
      {"aten.binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
       loss_rules("self target",
                  computed_text<"log_x = clamp(log(self), -100); log_rest = clamp(log1p(-self), -100); rest "
                                "= (target - 1) * log_rest; reduced(weighted(rest - target * log_x))">)},
      {"aten.binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? "
       "pos_weight=None, int reduction=1)",
       loss_rules(
           "self target",
           computed_text<"log_x = log_sigmoid(self); positive = pos_weight == none ? none : "
                         "computed(pos_weight); scaled = pos_weight == none ? log_x : ((positive - 1) * "
                         "target + 1) * log_x; reduced(weighted(rsub.Scalar(target, 1) * self - scaled))">)},
      {"aten.kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False)",
       loss_rules(
           "self target",
           computed_text<"reduced(log_target ? exp(target) * (target - self) : divergence(self, target))">)},
      {"aten.poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
       "reduction)",
       loss_rules(
           "input target",
           computed_text<
               "rate = log_input ? exp(input) : input; log_rate = log_input ? input : log(input + eps); loss "
               "= rate - target * log_rate; reduced(full ? loss + log_factorial(target) : loss)">,
           PromotesToFloat)},
      {"aten.soft_margin_loss(Tensor self, Tensor target, int reduction=1)",
       loss_rules("self target", computed_text<"reduced(log1p(exp(-self * target)))">)},
      {"aten.hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1)",
       loss_rules("self target", loss_of<hinge>)},
      {"aten.margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
       "reduction=1)",
       loss_rules("input1 input2 target", loss_of<margin_ranking>, PromotesToFloat)},
      {"aten.cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
       "reduction=1)",
       // 1 - cos for similar pairs, max(cos - margin, 0) for others
       in_autocast(
           AutocastF32,
           {.flags = PromotesToFloat,
            .promotes = "input1 input2",
            .infer = infer_cosine_embedding,
            .decompose = computed_text<
                "dim = [rank(target)]; length = sqrt((dot_over(input1, input1, dim) + 1e-12) * "
                "(dot_over(input2, input2, dim) + 1e-12)); cosine = dot_over(input1, input2, dim) / length; "
                "excess = clamp(cosine - margin, 0); alike = where(target == 1, rsub.Scalar(cosine, 1), 0); "
                "others = where(target == -1, excess, 0); reduced(alike + others)">})},
      {"aten.cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)",
       {.promotes = "x1 x2", .decompose = cosine_similarity}},
      {"aten.pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool "
       "keepdim=False)",
       {.flags = PromotesToFloat, .promotes = "x1 x2", .decompose = pairwise_distance}},
      {"aten.triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float "
       "p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1)",
       in_autocast(
           AutocastF32,
           {.flags = PromotesToFloat,
            .promotes = "anchor positive negative",
            .decompose =
                text<"alike = pairwise_distance(anchor, positive, p, eps); far = pairwise_distance(anchor, "
                     "negative, p, eps); other = swap ? minimum(far, pairwise_distance(positive, negative, "
                     "p, eps)) : far; reduced(clamp(alike + margin - other, 0))">})},
  };
  return lines;
}

}  // namespace depute::internal
