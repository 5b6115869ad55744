// Losses between scores and classes. Half precision is computed in f32.
//
//   aten.nll_loss_nd.default(%x: f32[n, c, ..], %y: i64[n, ..])
//     ->  -gather(%x, 1, %y), zero where %y is ignore_index; the mean counts the others
#include <fmt/format.h>

#include <cmath>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "ops/shared_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

std::size_t class_dim(const TensorType& scores) {
  return scores.rank() > 1 ? 1 : 0;
}

Dims without(Dims sizes, std::size_t dim) {
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return sizes;
}

// Targets are class indices, without the dimension of classes. Only cross entropy accepts probabilities.
Status check_targets(const OpCall& call) {
  const TensorType &self = call.tensor("self"), &target = call.tensor("target");
  if (self.rank() == 0) return argument_error("the scores have no class dimension");
  const Value* weight = call.value("weight");
  if (weight != nullptr && weight->tensor().rank() != 1)
    return argument_error(
        fmt::format("class weights must have rank 1, got rank {}", weight->tensor().rank()));
  const bool takes_probabilities = call.def().arg_index(Name("label_smoothing")) >= 0;
  if (takes_probabilities && target.rank() == self.rank() && is_floating(target.dtype)) return {};
  if (target.rank() + 1 == self.rank()) return {};
  return argument_error(
      fmt::format("targets of rank {} do not match scores of rank {}", target.rank(), self.rank()));
}

Types infer_class_loss(const OpCall& call) {
  TRY_STATUS(check_targets(call));
  const TensorType& self = call.tensor("self");
  Dims sizes;
  if (call.integer("reduction") == 0) sizes = without(self.sizes, class_dim(self));
  return tensor_result(self.dtype, std::move(sizes));
}
Types infer_nll_forward(const OpCall& call) {
  TRY(std::vector<Type> types, infer_class_loss(call));
  types.push_back(tensor_type({.dtype = call.tensor("self").dtype, .sizes = {}}));
  return types;
}

// The class of each element, or class 0 where the element is ignored.
struct Targets {
  Value* classes;
  Value* is_counted;
};

Targets read_targets(Builder& b, const OpCall& call) {
  Value* target = to_dtype(b, b.own(call.value("target")), ScalarType::I64);
  Value* is_counted = b.call("aten.ne.Scalar", {target, call["ignore_index"]});
  return {zero_unless(b, is_counted, target), is_counted};
}

// Returns the score of each element's class.
Value* pick(Builder& b, Value* scores, Value* classes) {
  auto dim = static_cast<std::int64_t>(class_dim(scores->tensor()));
  Value* column = b.call("aten.unsqueeze.default", {classes, dim});
  Value* picked = b.call("aten.gather.default", {scores, dim, column});
  return b.call("aten.squeeze.dims", {picked, Ints{dim}});
}

Value* weights_of(Builder& b, Value* weight, Value* classes) {
  return b.call("aten.index.Tensor", {weight, std::vector<Value*>{classes}});
}

// Returns the divisor of the mean: the sum of weights of counted elements, or their number.
Value* total_weight(Builder& b, Value* weight, const Targets& targets, ScalarType dtype) {
  Value* counts = weight != nullptr
                      ? zero_unless(b, targets.is_counted, weights_of(b, weight, targets.classes))
                      : to_dtype(b, targets.is_counted, dtype);
  return b.call("aten.sum.default", {counts});
}

// Reduces the losses of counted elements; the mean divides by total_weight().
Value* reduce(Builder& b, const OpCall& call, Value* loss, Value* weight, const Targets& targets,
              ScalarType dtype) {
  std::int64_t reduction = call.integer("reduction");
  ScalarType computed = loss->tensor().dtype;
  if (reduction != 0) loss = b.call("aten.sum.default", {loss});
  if (reduction == 1) loss = b.call("aten.div.Tensor", {loss, total_weight(b, weight, targets, computed)});
  return to_dtype(b, loss, dtype);
}

Replacement nll_loss_and_weight(Builder& b, const OpCall& call) {
  ScalarType dtype = call.tensor("self").dtype;
  Value* scores = to_compute_type(b, call.value("self"));
  Value* weight = to_compute_type(b, call.value("weight"));
  Targets targets = read_targets(b, call);
  Value* loss = b.call("aten.neg.default", {pick(b, scores, targets.classes)});
  if (weight != nullptr) {
    loss = b.call("aten.mul.Tensor", {loss, weights_of(b, weight, targets.classes)});
  }
  loss = reduce(b, call, zero_unless(b, targets.is_counted, loss), weight, targets, dtype);
  const bool has_no_total = call.integer("reduction") == 0 && call.tensor("self").rank() > 1;
  Value* total = has_no_total ? b.call("aten.full.default", {Dims{}, 0, dtype})
                              : to_dtype(b, total_weight(b, weight, targets, compute_type(dtype)), dtype);
  return std::vector<Value*>{loss, total};
}
Replacement nll_loss(Builder& b, const OpCall& call) {
  TRY(std::vector<Value*> results, nll_loss_and_weight(b, call));
  return one(results[0]);
}

// --- cross entropy of class indices or of probabilities; smoothing mixes in a uniform distribution

Value* class_row(Builder& b, Value* weight, const TensorType& scores) {
  return along(b, weight, class_dim(scores), scores.rank());
}

Value* weighted_sum(Builder& b, Value* elements, Value* weight) {
  auto dim = static_cast<std::int64_t>(class_dim(elements->tensor()));
  if (weight != nullptr) {
    elements = b.call("aten.mul.Tensor", {elements, class_row(b, weight, elements->tensor())});
  }
  return b.call("aten.neg.default", {b.call("aten.sum.dim_IntList", {elements, Ints{dim}})});
}

// Returns the weight that smoothing gives each class.
BuilderArgument even_share(Builder& b, double smoothing, const SymInt& classes, ScalarType dtype) {
  if (classes.is_constant()) return smoothing / static_cast<double>(classes.value());
  return b.call("aten.reciprocal.default",
                {b.call("aten.mul.Tensor", {size_tensor(b, classes, dtype), 1 / smoothing})});
}

Replacement smooth_cross_entropy(Builder& b, const OpCall& call, Value* scores, const SymInt& classes) {
  double smoothing = call.number("label_smoothing");
  Value* weight = to_compute_type(b, call.value("weight"));
  Targets targets = read_targets(b, call);
  Value* own = b.call("aten.neg.default", {pick(b, scores, targets.classes)});
  if (weight != nullptr) own = b.call("aten.mul.Tensor", {own, weights_of(b, weight, targets.classes)});
  Value* even = weighted_sum(b, scores, weight);
  own = b.call("aten.mul.Tensor", {own, 1 - smoothing});
  even = b.call("aten.mul.Tensor",
                {even, even_share(b, smoothing, classes, compute_type(scores->tensor().dtype))});
  Value* loss = zero_unless(b, targets.is_counted, b.call("aten.add.Tensor", {own, even}));
  return one(reduce(b, call, loss, weight, targets, call.tensor("self").dtype));
}

Replacement cross_entropy_of_probabilities(Builder& b, const OpCall& call, Value* scores,
                                           const SymInt& classes) {
  double smoothing = call.number("label_smoothing");
  Value* target = to_compute_type(b, call.value("target"));
  if (smoothing > 0) {
    target = b.call("aten.mul.Tensor", {target, 1 - smoothing});
    target = b.call("aten.add.Tensor", {target, even_share(b, smoothing, classes, target->tensor().dtype)});
  }
  Value* weight = to_compute_type(b, call.value("weight"));
  Value* loss = weighted_sum(b, b.call("aten.mul.Tensor", {scores, target}), weight);
  return one(reduce_loss(b, call, loss, call.tensor("self").dtype));
}

Replacement cross_entropy_loss(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  const SymInt classes = self.sizes[class_dim(self)];
  auto dim = static_cast<std::int64_t>(class_dim(self));
  Value* scores = b.call("aten._log_softmax.default", {to_compute_type(b, call.value("self")), dim, false});
  const TensorType& target = call.tensor("target");
  if (target.rank() == self.rank() && is_floating(target.dtype)) {
    return cross_entropy_of_probabilities(b, call, scores, classes);
  }
  if (call.number("label_smoothing") > 0) return smooth_cross_entropy(b, call, scores, classes);
  Value* loss =
      b.call("aten.nll_loss_nd.default", {scores, call["target"], to_compute_type(b, call.value("weight")),
                                          call["reduction"], call["ignore_index"]});
  return one(to_dtype(b, loss, self.dtype));
}

// --- margins between the scores of classes

// Returns the scores as [n, c].
Value* as_rows(Builder& b, Value* x) {
  return x->tensor().rank() < 2 ? b.view(x, {1, x->tensor().numel()}) : x;
}

// Returns a loss per row, or a scalar for a single row and a target without dimensions.
Types infer_multi_margin(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() > 2 || call.tensor("target").rank() > 1)
    return argument_error("a margin loss requires scores [batch, classes] and targets [batch]");
  Dims sizes;
  if (call.integer("reduction") == 0) sizes = call.tensor("target").sizes;
  return tensor_result(self.dtype, std::move(sizes));
}
Types infer_multilabel_margin(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() > 2 || call.tensor("target").rank() > 2)
    return argument_error("a margin loss requires scores and targets of shape [batch, classes]");
  Dims sizes;
  if (call.integer("reduction") == 0 && self.rank() > 1) sizes = {self.sizes[0]};
  return tensor_result(self.dtype, std::move(sizes));
}

// Returns the mean over the classes of each row's terms, reduced over the rows.
Replacement reduce_rows(Builder& b, const OpCall& call, Value* terms, const Ints& dims, Value* scores) {
  TRY(std::vector<Type> types, call.def().infer(call));
  Value* sum = b.call("aten.sum.dim_IntList", {terms, dims});
  Value* count = size_tensor(b, scores->tensor().sizes[1], scores->tensor().dtype);
  Value* loss = b.call("aten.div.Tensor", {sum, count});
  if (call.integer("reduction") == 0) loss = reshape(b, loss, types[0].tensor.sizes);
  return one(reduce_loss(b, call, loss, types[0].tensor.dtype));
}

// Returns max(x, 0), and 0 for NaN.
Value* if_positive(Builder& b, Value* x) {
  return zero_unless(b, b.call("aten.gt.Scalar", {x, 0}), x);
}

// max(margin - x[y] + x[i], 0)^p for each class i other than y
Replacement multi_margin(Builder& b, const OpCall& call) {
  TRY(double power, constant_number(call, "p"));
  power = std::trunc(power);
  Value* scores = as_rows(b, to_compute_type(b, call.value("self")));
  Value* target = to_dtype(b, b.own(call.value("target")), ScalarType::I64);
  target = b.view(target, {scores->tensor().sizes[0], 1});
  Value* own = b.call("aten.gather.default", {scores, 1, target});
  Value* lead = b.call("aten.sub.Tensor", {scores, own});
  Value* terms = if_positive(b, b.call("aten.add.Tensor", {lead, call["margin"]}));
  if (power != 1) terms = b.call("aten.mul.Tensor", {terms, terms});
  if (Value* weight = to_compute_type(b, call.value("weight"))) {
    terms = b.call("aten.mul.Tensor", {terms, weights_of(b, weight, target)});
  }
  Value* is_other = b.call("aten.ne.Tensor", {range(b, scores->tensor().sizes[1]), target});
  return reduce_rows(b, call, zero_unless(b, is_other, terms), {1}, scores);
}

// max(1 - x[y] + x[i], 0) for each label y before the first -1, and each class i that is no label
Replacement multilabel_margin(Builder& b, const OpCall& call) {
  Value* scores = as_rows(b, to_compute_type(b, call.value("self")));
  Value* target = as_rows(b, to_dtype(b, b.own(call.value("target")), ScalarType::I64));
  Value* is_end = b.call("aten.lt.Scalar", {target, 0});
  Value* ends = b.call("aten.cumsum.default", {to_dtype(b, is_end, ScalarType::I64), 1});
  Value* is_label = b.call("aten.eq.Scalar", {ends, 0});
  Value* own = b.call("aten.gather.default", {scores, 1, zero_unless(b, is_label, target)});
  Value* label_column = b.call("aten.unsqueeze.default", {is_label, 2});
  Value* same = b.call("aten.eq.Tensor",
                       {b.call("aten.unsqueeze.default", {target, 2}), range(b, scores->tensor().sizes[1])});
  Value* is_labeled =
      b.call("aten.any.dim", {b.call("aten.logical_and.default", {same, label_column}), 1, true});
  Value* lead = b.call("aten.sub.Tensor", {b.call("aten.unsqueeze.default", {scores, 1}),
                                           b.call("aten.unsqueeze.default", {own, 2})});
  Value* terms = if_positive(b, b.call("aten.add.Tensor", {lead, 1}));
  Value* counts =
      b.call("aten.logical_and.default", {label_column, b.call("aten.logical_not.default", {is_labeled})});
  return reduce_rows(b, call, zero_unless(b, counts, terms), {1, 2}, scores);
}

}  // namespace

std::span<const OpLine> class_loss_ops() {
  static constexpr OpLine lines[] = {
      {"aten.nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
       "ignore_index=-100)",
       in_autocast(AutocastF32, composite(infer_class_loss, nll_loss))},
      {"aten.nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
       "ignore_index=-100)",
       in_autocast(AutocastF32, composite(infer_class_loss, nll_loss))},
      {"aten.nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
       "ignore_index=-100)",
       composite(infer_class_loss, nll_loss)},
      {"aten.nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
       "ignore_index) -> (Tensor output, Tensor total_weight)",
       composite(infer_nll_forward, nll_loss_and_weight)},
      {"aten.nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
       "ignore_index) -> (Tensor output, Tensor total_weight)",
       composite(infer_nll_forward, nll_loss_and_weight)},
      {"aten.cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
       "ignore_index=-100, float label_smoothing=0.)",
       in_autocast(AutocastF32, composite(infer_class_loss, cross_entropy_loss))},
      {"aten.multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
       "int reduction=1)",
       in_autocast(AutocastF32, composite(infer_multi_margin, multi_margin))},
      {"aten.multilabel_margin_loss(Tensor self, Tensor target, int reduction=1)",
       in_autocast(AutocastF32, composite(infer_multilabel_margin, multilabel_margin))},
  };
  return lines;
}

}  // namespace depute::internal
