// Losses between tensors of equal sizes, and similarity measures. Each is a pointwise expression and a
// reduction: 0 none, 1 mean, 2 sum. Half precision is computed in f32.
//
//   aten.mse_loss.default(%x, %y)  ->  mean((x - y)^2)
#include <cmath>
#include <numbers>

#include "depute/builder.h"
#include "ops/idioms.h"
#include "ops/losses.h"
#include "ops/op_table.h"
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
constexpr OpRules loss_rules(const char* promotes, OpFlag flags = None) {
  return {.flags = flags, .promotes = promotes, .infer = infer_loss, .decompose = loss<expression>};
}

Value* difference(Builder& b, Value* x, Value* y) {
  return b.call("aten.sub.Tensor", {x, y});
}
Value* distance(Builder& b, Value* x, Value* y) {
  return b.call("aten.abs.default", {difference(b, x, y)});
}
Value* times(Builder& b, const BuilderArgument& x, const BuilderArgument& y) {
  return b.call("aten.mul.Tensor", {x, y});
}

Value* l1(Builder& b, const OpCall&, Value* x, Value* y) {
  return distance(b, x, y);
}
Value* mse(Builder& b, const OpCall&, Value* x, Value* y) {
  Value* d = difference(b, x, y);
  return times(b, d, d);
}

// Returns d^2 / 2 near 0, and beyond `bend` its tangent at `bend`.
Value* bent_square(Builder& b, Value* d, double bend) {
  Value* near = times(b, times(b, d, d), 0.5);
  Value* far = times(b, b.call("aten.sub.Tensor", {d, 0.5 * bend}), bend);
  return b.call("aten.where.self", {b.call("aten.lt.Scalar", {d, bend}), near, far});
}
Value* smooth_l1(Builder& b, const OpCall& call, Value* x, Value* y) {
  double beta = call.number("beta");
  Value* d = distance(b, x, y);
  if (beta == 0) return d;
  Value* bent = bent_square(b, d, beta);
  return beta == 1 ? bent : b.call("aten.div.Tensor", {bent, beta});
}
Value* huber(Builder& b, const OpCall& call, Value* x, Value* y) {
  return bent_square(b, distance(b, x, y), call.number("delta"));
}

// 1 - x
Value* complement(Builder& b, Value* x) {
  return b.call("aten.rsub.Scalar", {x, 1});
}

Value* weighted(Builder& b, const OpCall& call, Value* elements) {
  Value* weight = to_compute_type(b, call.value("weight"));
  return weight == nullptr ? elements : times(b, elements, weight);
}

// -(y * log(x) + (1 - y) * log(1 - x)), with logarithms of at least -100
Value* cross_entropy(Builder& b, const OpCall& call, Value* x, Value* y) {
  Value* log_x = b.call("aten.clamp.default", {b.call("aten.log.default", {x}), -100});
  Value* log_rest = b.call("aten.log1p.default", {b.call("aten.neg.default", {x})});
  log_rest = b.call("aten.clamp.default", {log_rest, -100});
  Value* rest = times(b, b.call("aten.sub.Tensor", {y, 1}), log_rest);
  return weighted(b, call, b.call("aten.sub.Tensor", {rest, times(b, y, log_x)}));
}

// (1 - y) * x - (1 + (pos_weight - 1) * y) * log(sigmoid(x))
Value* cross_entropy_of_logits(Builder& b, const OpCall& call, Value* x, Value* y) {
  Value* log_sigmoid = b.call("aten.log_sigmoid.default", {x});
  if (Value* positive = to_compute_type(b, call.value("pos_weight"))) {
    Value* extra = times(b, b.call("aten.sub.Tensor", {positive, 1}), y);
    log_sigmoid = times(b, b.call("aten.add.Tensor", {extra, 1}), log_sigmoid);
  }
  return weighted(b, call, b.call("aten.sub.Tensor", {times(b, complement(b, y), x), log_sigmoid}));
}

// y * (log(y) - x), 0 where y is 0; or exp(y) * (y - x) if y is a logarithm
Value* kl_div(Builder& b, const OpCall& call, Value* x, Value* y) {
  if (call.boolean("log_target")) return times(b, b.call("aten.exp.default", {y}), difference(b, y, x));
  Value* own = zero_unless(b, b.call("aten.ne.Scalar", {y, 0}), times(b, y, b.call("aten.log.default", {y})));
  return b.call("aten.sub.Tensor", {own, times(b, y, x)});
}

// exp(x) - y * x, or x - y * log(x + eps); `full` adds Stirling's formula for log(y!) where y > 1
Value* poisson(Builder& b, const OpCall& call, Value* x, Value* y) {
  Value* log_x = x;
  if (call.boolean("log_input")) {
    x = b.call("aten.exp.default", {x});
  } else {
    log_x = b.call("aten.log.default", {b.call("aten.add.Tensor", {x, call["eps"]})});
  }
  Value* loss = b.call("aten.sub.Tensor", {x, times(b, y, log_x)});
  if (!call.boolean("full")) return loss;
  Value* entropy = difference(b, times(b, y, b.call("aten.log.default", {y})), y);
  Value* spread = times(b, b.call("aten.log.default", {times(b, y, 2 * std::numbers::pi)}), 0.5);
  Value* stirling = b.call("aten.add.Tensor", {entropy, spread});
  return b.call("aten.add.Tensor", {loss, zero_unless(b, b.call("aten.gt.Scalar", {y, 1}), stirling)});
}

// log(1 + exp(-x * y))
Value* soft_margin(Builder& b, const OpCall&, Value* x, Value* y) {
  Value* decay = b.call("aten.exp.default", {times(b, b.call("aten.neg.default", {x}), y)});
  return b.call("aten.log1p.default", {decay});
}

// max(margin - x, 0) except where y is 1, plus x except where y is -1
Value* hinge(Builder& b, const OpCall& call, Value* x, Value* y) {
  if (call.tensor("self").dtype == ScalarType::U8)
    b.fail(type_error("a hinge loss of bytes, whose differences from the margin wrap around").error());
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

Value* dot(Builder& b, Value* x, Value* y, const BuilderArgument& dim) {
  return b.call("aten.sum.dim_IntList", {times(b, x, y), dim});
}

// 1 - cos for similar pairs, max(cos - margin, 0) for others
Value* cosine_embedding(Builder& b, const OpCall& call, Value* x1, Value* x2) {
  constexpr double eps = 1e-12;
  std::vector<std::int64_t> dim{static_cast<std::int64_t>(call.tensor("target").rank())};
  auto squares = [&](Value* x) { return b.call("aten.add.Tensor", {dot(b, x, x, dim), eps}); };
  Value* length = b.call("aten.sqrt.default", {times(b, squares(x1), squares(x2))});
  Value* cosine = b.call("aten.div.Tensor", {dot(b, x1, x2, dim), length});
  Value* excess = positive_part(b, b.call("aten.sub.Tensor", {cosine, call["margin"]}));
  Value* alike = zero_unless(b, b.call("aten.eq.Scalar", {call["target"], 1}), complement(b, cosine));
  Value* others = zero_unless(b, b.call("aten.eq.Scalar", {call["target"], -1}), excess);
  return b.call("aten.add.Tensor", {alike, others});
}
Types infer_cosine_embedding(const OpCall& call) {
  return tensor_result(promoted_type(call),
                       call.integer("reduction") == 0 ? call.tensor("target").sizes : Dims{});
}

Types infer_cosine_similarity(const OpCall& call) {
  TRY(std::vector<Type> types, infer_promoted(call));
  TensorType& type = types[0].tensor;
  TRY(std::size_t dim, dim_of(call, "dim", type));
  type.sizes.erase(type.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return types;
}
// Returns the dot product of x1 / max(|x1|, eps) and x2 / max(|x2|, eps).
Replacement cosine_similarity(Builder& b, const OpCall& call) {
  ScalarType dtype = promoted_type(call);
  TRY(Dims sizes, broadcast(call.tensor("x1").sizes, call.tensor("x2").sizes));
  TRY(std::size_t wrapped, wrap_dim(call.integer("dim"), sizes.size()));
  auto unit = [&](std::string_view name) {
    Value* x = to_dtype(b, b.own(call.value(name)), compute_type(dtype));
    if (x == nullptr) return x;
    auto rank = static_cast<std::int64_t>(x->tensor().rank());
    std::int64_t dim = static_cast<std::int64_t>(wrapped) - static_cast<std::int64_t>(sizes.size());
    if (dim < -rank) x = with_rank(b, x, sizes.size());
    if (b.failed()) return x;
    // Takes the norm over the broadcast length: a broadcast element counts repeatedly.
    if (x->tensor().sizes[x->tensor().rank() + dim] != sizes[wrapped])
      x = b.call("aten.expand.default", {x, sizes});
    Value* norm = b.call("aten.linalg_vector_norm.default", {x, 2, std::vector<std::int64_t>{dim}, true});
    return b.call("aten.div.Tensor", {x, b.call("aten.clamp.default", {norm, call["eps"]})});
  };
  std::vector<std::int64_t> dim{static_cast<std::int64_t>(wrapped)};
  Value* x1 = unit("x1");
  return one(to_dtype(b, dot(b, x1, unit("x2"), dim), dtype));
}

Types infer_pairwise_distance(const OpCall& call) {
  TRY(std::vector<Type> types, infer_promoted(call));
  Dims& sizes = types[0].tensor.sizes;
  types[0].tensor.dtype = part_of(types[0].tensor.dtype);
  if (sizes.empty()) return types;
  if (call.boolean("keepdim")) {
    sizes.back() = 1;
  } else {
    sizes.pop_back();
  }
  return types;
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

Types infer_triplet(const OpCall& call) {
  TRY(std::vector<Type> types, infer_promoted(call));
  types[0].tensor.dtype = part_of(types[0].tensor.dtype);
  Dims& sizes = types[0].tensor.sizes;
  if (call.integer("reduction") != 0) {
    sizes.clear();
  } else if (!sizes.empty()) {
    sizes.pop_back();
  }
  return types;
}
// max(margin + |anchor - positive| - |anchor - negative|, 0)
Replacement triplet(Builder& b, const OpCall& call) {
  auto far = [&](std::string_view x, std::string_view y) {
    return b.call("aten.pairwise_distance.default", {call[x], call[y], call["p"], call["eps"]});
  };
  Value* alike = far("anchor", "positive");
  Value* other = far("anchor", "negative");
  if (call.boolean("swap")) other = b.call("aten.minimum.default", {other, far("positive", "negative")});
  Value* excess = difference(b, b.call("aten.add.Tensor", {alike, call["margin"]}), other);
  return one(reduce_loss(b, call, positive_part(b, excess), promoted_type(call)));
}

}  // namespace

std::span<const OpLine> loss_ops() {
  static constexpr OpLine lines[] = {
      {"aten.l1_loss.default(Tensor self, Tensor target, int reduction=1) -> Tensor",
       in_autocast(AutocastF32, loss_rules<l1>("self target"))},
      {"aten.mse_loss.default(Tensor self, Tensor target, int reduction=1) -> Tensor",
       in_autocast(AutocastF32, loss_rules<mse>("self target"))},
      {"aten.smooth_l1_loss.default(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
       in_autocast(AutocastF32, loss_rules<smooth_l1>("self target"))},
      {"aten.huber_loss.default(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
       in_autocast(AutocastF32, loss_rules<huber>("self target"))},
      {"aten.binary_cross_entropy.default(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) "
       "-> Tensor",
       in_autocast(AutocastF32, loss_rules<cross_entropy>("self target"))},
      {"aten.binary_cross_entropy_with_logits.default(Tensor self, Tensor target, Tensor? weight=None, "
       "Tensor? pos_weight=None, int reduction=1) -> Tensor",
       in_autocast(AutocastF32, loss_rules<cross_entropy_of_logits>("self target"))},
      {"aten.kl_div.default(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
       in_autocast(AutocastF32, loss_rules<kl_div>("self target"))},
      {"aten.poisson_nll_loss.default(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
       "reduction) -> Tensor",
       in_autocast(AutocastF32, loss_rules<poisson>("input target", PromotesToFloat))},
      {"aten.soft_margin_loss.default(Tensor self, Tensor target, int reduction=1) -> Tensor",
       in_autocast(AutocastF32, loss_rules<soft_margin>("self target"))},
      {"aten.hinge_embedding_loss.default(Tensor self, Tensor target, float margin=1., int reduction=1) -> "
       "Tensor",
       in_autocast(AutocastF32, loss_rules<hinge>("self target"))},
      {"aten.margin_ranking_loss.default(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
       "reduction=1) -> Tensor",
       in_autocast(AutocastF32, loss_rules<margin_ranking>("input1 input2 target", PromotesToFloat))},
      {"aten.cosine_embedding_loss.default(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
       "reduction=1) -> Tensor",
       in_autocast(AutocastF32, {.flags = PromotesToFloat,
                                 .promotes = "input1 input2",
                                 .infer = infer_cosine_embedding,
                                 .decompose = loss<cosine_embedding>})},
      {"aten.cosine_similarity.default(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
       {.promotes = "x1 x2", .infer = infer_cosine_similarity, .decompose = cosine_similarity}},
      {"aten.pairwise_distance.default(Tensor x1, Tensor x2, float p=2., float "
       "eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
       {.flags = PromotesToFloat,
        .promotes = "x1 x2",
        .infer = infer_pairwise_distance,
        .decompose = pairwise_distance}},
      {"aten.triplet_margin_loss.default(Tensor anchor, Tensor positive, Tensor negative, float margin=1., "
       "float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
       in_autocast(AutocastF32, {.flags = PromotesToFloat,
                                 .promotes = "anchor positive negative",
                                 .infer = infer_triplet,
                                 .decompose = triplet})},
  };
  return lines;
}

}  // namespace depute::internal
