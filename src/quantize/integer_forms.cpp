#include "quantize/integer_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "depute/compiler/normalize.h"
#include "depute/program/builder.h"
#include "normalize/apply_rules.h"
#include "normalize/passes.h"
#include "quantize/constants.h"
#include "quantize/static_ops.h"
#include "support/try.h"

namespace depute {
namespace {

using Axes = std::vector<std::int64_t>;

Value* product(Builder& b, BuilderArgument x, BuilderArgument y) {
  return b.call("aten.mul.Tensor", {std::move(x), std::move(y)});
}

// x less its largest element along the dimension: at most 0
Value* below_largest(Builder& b, Value* x, std::int64_t dim) {
  return b.call("aten.sub.Tensor", {x, b.call("aten.amax.default", {x, Axes{dim}, true})});
}

Value* softmax_of(Builder& b, Value* x, std::int64_t dim) {
  Value* powers = b.call("aten.exp.default", {below_largest(b, x, dim)});
  Value* sum = b.call("aten.sum.dim_IntList", {powers, Axes{dim}, true});
  return product(b, powers, b.call("aten.reciprocal.default", {sum}));
}

Replacement softmax(Builder& b, const OpCall& call) {
  return one(softmax_of(b, b.own(call.value("self")), call.integer("dim")));
}

Replacement log_softmax(Builder& b, const OpCall& call) {
  Value* below = below_largest(b, b.own(call.value("self")), call.integer("dim"));
  Value* powers = b.call("aten.exp.default", {below});
  Value* sum = b.call("aten.sum.dim_IntList", {powers, Axes{call.integer("dim")}, true});
  return one(b.call("aten.sub.Tensor", {below, b.call("aten.log.default", {sum})}));
}

struct Normed {
  Value* value;
  Value* mean;
  Value* factor;  // 1 / sqrt(variance + eps)
};

Normed normed(Builder& b, Value* x, const Axes& dims, const Argument& eps) {
  Value* mean = b.call("aten.mean.dim", {x, dims, true});
  Value* distance = b.call("aten.sub.Tensor", {x, mean});
  Value* variance = b.call("aten.mean.dim", {product(b, distance, distance), dims, true});
  Value* factor = b.call("aten.rsqrt.default", {b.call("aten.add.Tensor", {variance, eps})});
  return {product(b, distance, factor), mean, factor};
}

// x * weight + bias; both may be missing
Value* scaled(Builder& b, Value* x, Value* weight, Value* bias) {
  if (weight != nullptr) x = product(b, x, weight);
  return bias == nullptr ? x : b.call("aten.add.Tensor", {x, bias});
}

Value* own_or_null(Builder& b, const OpCall& call, std::string_view name) {
  const Value* value = call.value(name);
  return value == nullptr ? nullptr : b.own(value);
}

Replacement layer_norm(Builder& b, const OpCall& call) {
  Axes dims;
  for (std::size_t i = as_dims(call["normalized_shape"]).size(); i > 0; --i)
    dims.push_back(-static_cast<std::int64_t>(i));
  const Normed made = normed(b, b.own(call.value("input")), dims, call["eps"]);
  Value* result = scaled(b, made.value, own_or_null(b, call, "weight"), own_or_null(b, call, "bias"));
  return std::vector<Value*>{result, made.mean, made.factor};
}

// A value for each channel, in the shape in which it multiplies an input with the channels in dimension 1.
Value* by_channel(Builder& b, Value* value, const TensorType& input) {
  if (value == nullptr) return nullptr;
  Dims sizes(input.rank(), SymInt(1));
  sizes[1] = input.sizes[1];
  return b.view(value, sizes);
}

Replacement group_norm(Builder& b, const OpCall& call) {
  const TensorType& input = call.tensor("input");
  const Dims statistics = {input.sizes[0], as_sym_int(call["group"])};
  SymInt size = floor_div(input.sizes[1], statistics[1]);
  for (std::size_t i = 2; i < input.rank(); ++i) size = size * input.sizes[i];
  Value* groups = b.view(b.own(call.value("input")), {statistics[0], statistics[1], size});
  const Normed made = normed(b, groups, {-1}, call["eps"]);
  Value* bias = by_channel(b, own_or_null(b, call, "bias"), input);
  Value* weight = by_channel(b, own_or_null(b, call, "weight"), input);
  Value* result = scaled(b, b.view(made.value, input.sizes), weight, bias);
  return std::vector<Value*>{result, b.view(made.mean, statistics), b.view(made.factor, statistics)};
}

// A batch norm that no layer before it has taken: a product and a sum by channel. All factors are constants, which are
// computed now.
Replacement batch_norm(Builder& b, const OpCall& call) {
  const TensorType& input = call.tensor("input");
  Value* mean = own_or_null(b, call, "running_mean");
  Value* variance = own_or_null(b, call, "running_var");
  const bool is_training = call.def().arg_index(Name("training")) >= 0 && call.boolean("training");
  if (mean == nullptr || variance == nullptr || is_training || input.rank() < 2) return std::vector<Value*>{};
  Value* factor = b.call("aten.rsqrt.default", {b.call("aten.add.Tensor", {variance, call["eps"]})});
  if (Value* weight = own_or_null(b, call, "weight")) factor = product(b, factor, weight);
  Value* shift = b.call("aten.neg.default", {product(b, mean, factor)});
  if (Value* bias = own_or_null(b, call, "bias")) shift = b.call("aten.add.Tensor", {shift, bias});
  Value* x = b.own(call.value("input"));
  shift = by_channel(b, shift, input);
  std::vector<Value*> results = {scaled(b, x, by_channel(b, factor, input), shift)};
  while (results.size() < call.def().returns.size()) results.push_back(mean);
  return results;
}

// x * (1 / y)
Replacement quotient(Builder& b, const OpCall& call) {
  const Value* divisor = call.value("other");
  if (call.value("self") == nullptr || divisor == nullptr) return std::vector<Value*>{};
  Value* factor = b.call("aten.reciprocal.default", {b.own(divisor)});
  return one(product(b, b.own(call.value("self")), factor));
}

// Scores of keys that a query does not see.
constexpr double unseen = -std::numeric_limits<double>::infinity();

// The sum or choice of scores that the mask of the call asks for. A row without any key gets equal weights, where PyTorch
// returns zeros.
Value* masked_scores(Builder& b, const OpCall& call, Value* scores) {
  Value* mask = own_or_null(b, call, "attn_mask");
  if (mask == nullptr && call.boolean("is_causal")) {
    const Dims& sizes = scores->tensor().sizes;
    Value* all = b.call("aten.ones.default",
                        {Dims{sizes[sizes.size() - 2], sizes[sizes.size() - 1]}, ScalarType::Bool});
    mask = b.call("aten.tril.default", {all});
  }
  if (mask == nullptr) return scores;
  if (mask->tensor().dtype == ScalarType::Bool) return b.call("aten.where.self", {mask, scores, unseen});
  return b.call("aten.add.Tensor", {scores, mask});
}

Replacement attention(Builder& b, const OpCall& call) {
  const TensorType& query = call.tensor("query");
  const bool is_plain = query.dtype == ScalarType::F32 && !call.boolean("enable_gqa") &&
                        call.number("dropout_p") == 0 && query.sizes.back().is_constant();
  if (!is_plain) return std::vector<Value*>{};
  const double scale = call["scale"].is_none()
                           ? 1 / std::sqrt(static_cast<double>(query.sizes.back().value()))
                           : call.number("scale");
  Value* keys = b.call("aten.transpose.int", {b.own(call.value("key")), -2, -1});
  Value* scores = b.call("aten.matmul.default", {product(b, b.own(call.value("query")), scale), keys});
  Value* weights = softmax_of(b, masked_scores(b, call, scores), -1);
  return one(b.call("aten.matmul.default", {weights, b.own(call.value("value"))}));
}

struct Form {
  std::string_view op;
  DecomposeFunction rule;
};
constexpr Form attention_forms[] = {{"aten.scaled_dot_product_attention.default", attention}};
constexpr Form core_forms[] = {
    {"aten._softmax.default", softmax},
    {"aten._log_softmax.default", log_softmax},
    {"aten.native_layer_norm.default", layer_norm},
    {"aten.native_group_norm.default", group_norm},
    {"aten.batch_norm.default", batch_norm},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm},
    {"aten.div.Tensor", quotient},
};

using Chooser = std::function<bool(const Node&)>;

// The form of a node that computes floats, or null.
DecomposeFunction form_of(const Node& node, std::span<const Form> forms) {
  const auto form = std::ranges::find(forms, node.op().str(), &Form::op);
  if (form == forms.end() || node.def() == nullptr || !check_call(node) || !is_floats(node.result(0)))
    return nullptr;
  return form->rule;
}

Status apply(Program& program, std::span<const Form> forms, const Chooser& chooses) {
  const auto rule_of = [&](const Node& node) { return chooses(node) ? form_of(node, forms) : nullptr; };
  for (auto& method : program.methods)
    TRY_STATUS(apply_rules(*method, *method->graph, program.ranges, rule_of));
  return {};
}

// Computes each element of its result from one element of one tensor.
bool is_function(const OpDef& def) {
  const auto is_tensor = [](const ArgDef& arg) { return arg.type == ArgType::Tensor; };
  return def.is(OpFlag::Pointwise) && !def.mutates() && std::ranges::count_if(def.args, is_tensor) == 1 &&
         def.arg_index(Name("other")) < 0;
}

OpsToNotDecompose whole_ops() {
  OpsToNotDecompose whole;
  for (const OpDef* def : all_ops()) {
    if (is_function(*def) || is_static_op(def->name.str())) whole.ops.push_back(def->name);
  }
  return whole;
}

Status normalize_but_whole_ops(Program& program) {
  TRY(program, normalize(std::move(program), {.ops_to_not_decompose = {whole_ops()}}));
  return {};
}

}  // namespace

Status write_core_ops(Program& program, const Chooser& chooses) {
  TRY_STATUS(apply(program, attention_forms, chooses));
  return normalize_but_whole_ops(program);
}

Status write_integer_forms(Program& program, const Chooser& chooses) {
  TRY_STATUS(apply(program, core_forms, chooses));
  return normalize_but_whole_ops(program);
}

}  // namespace depute
