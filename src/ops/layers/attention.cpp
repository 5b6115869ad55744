// Scaled dot product attention: softmax(q k^T * scale + mask) v.
//
// The scale goes on q, which is smaller than the scores. A row whose keys are all masked gives zeros, as in
// PyTorch; only a mask that is given can do that, so only then the rows are guarded: by a factor of 0 or 1,
// which is found from the mask and is the same in all layers.
#include <cmath>
#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
// Adding this to a score gives a weight of exactly 0, like -inf. If all scores of a row are masked, the
// weights are still numbers instead of NaN.
constexpr double hidden = -std::numeric_limits<float>::max() / 2;

Types infer_attention(const OpCall& call) {
  const TensorType& query = call.tensor("query");
  const TensorType& key = call.tensor("key");
  const TensorType& value = call.tensor("value");
  if (query.rank() < 2 || key.rank() < 2 || value.rank() < 2)
    return argument_error("attention requires tensors of rank 2 or more");
  if (is_integral(query.dtype)) return argument_error("attention of integers");
  const auto batch = [](const TensorType& type) { return Dims(type.sizes.begin(), type.sizes.end() - 2); };
  Dims sizes = batch(query);
  if (!call.boolean("enable_gqa")) {  // with GQA, the last batch size counts heads, and keys have fewer
    TRY(sizes, broadcast(sizes, batch(key)));
    TRY(sizes, broadcast(sizes, batch(value)));
  }
  sizes.push_back(query.sizes[query.rank() - 2]);
  sizes.push_back(value.sizes.back());
  return tensor_result(query.dtype, std::move(sizes));
}

// Repeats each key head for several query heads: [b, h, s, e] becomes [b, h * n, s, e].
Value* repeat_heads(Builder& b, Value* x, const SymInt& heads) {
  std::size_t place = x->tensor().rank() - 3;
  const SymInt& own = x->tensor().sizes[place];
  if (own == heads) return x;
  return b.call("aten.repeat_interleave.self_int",
                {x, b.size(floor_div(heads, own)), static_cast<std::int64_t>(place)});
}

// Returns 0 where a query may attend to a key, `hidden` elsewhere.
Value* as_bias(Builder& b, Value* is_seen, ScalarType dtype) {
  Value* zero = b.call("aten.full.default", {Dims{}, 0, dtype});
  return b.call("aten.where.self", {is_seen, zero, hidden});
}

Value* causal_bias(Builder& b, const TensorType& query, const TensorType& key) {
  Argument rows = b.size(query.sizes[query.rank() - 2]);
  Argument columns = b.size(key.sizes[key.rank() - 2]);
  Value* row = b.call("aten.unsqueeze.default", {b.call("aten.arange.start_step", {0, rows}), -1});
  Value* column = b.call("aten.arange.start_step", {0, columns});
  return as_bias(b, b.call("aten.le.Tensor", {column, row}), compute_type(query.dtype));
}

// Computes softmax over a dimension; rows of -inf become zeros.
Value* guarded_softmax(Builder& b, Value* scores, std::int64_t dim) {
  if (scores->tensor().static_numel() == 0) return scores;
  Value* highest = b.call("aten.amax.default", {scores, std::vector<std::int64_t>{dim}, true});
  Value* is_masked = b.call("aten.eq.Scalar", {highest, minus_infinity});
  Value* weights = b.call("aten._softmax.default", {scores, dim, false});
  return b.call("aten.where.self", {is_masked, 0, weights});
}

// Computes softmax with a bool mask; fully masked rows become zeros.
Value* masked_softmax(Builder& b, Value* scores, Value* is_seen) {
  const ScalarType dtype = scores->tensor().dtype;
  Value* sum = b.call("aten.add.Tensor", {scores, as_bias(b, is_seen, dtype)});
  if (sum->tensor().static_numel() == 0) return sum;
  Value* weights = b.call("aten._softmax.default", {sum, -1, false});
  Value* sees_something = to_dtype(b, b.call("aten.any.dim", {is_seen, -1, true}), dtype);
  return b.call("aten.mul.Tensor", {weights, sees_something});
}

// 1 / (1 - x)
Value* one_over_rest(Builder& b, Value* x) {
  return b.call("aten.reciprocal.default", {b.call("aten.rsub.Scalar", {x, 1})});
}

// With zeros for rows whose mask is -inf throughout. A softmax makes NaN of a row of -inf, so the mask of
// such a row becomes 0, by a maximum with `floor`, and its weights are multiplied by `factor`. Both follow
// from the row's greatest element by arithmetic, which backends take more often than comparisons and choices:
//
//   excess = greatest - max(greatest, least), factor = 1 / (1 - excess), floor = 1 - 1 / (1 - factor)
//
//   greatest   excess   factor   floor
//   -inf       -inf     0        0
//   a number   0        1        -inf
//   NaN        NaN      NaN      NaN
Value* biased_softmax(Builder& b, Value* scores, Value* mask) {
  if (scores->tensor().static_numel() == 0) return b.call("aten.add.Tensor", {scores, mask});
  const bool is_double = mask->tensor().dtype == ScalarType::F64;
  const double least =
      is_double ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
  Value* greatest = b.call("aten.amax.default", {mask, std::vector<std::int64_t>{-1}, true});
  Value* finite = b.call("aten.clamp.default", {greatest, least});
  Value* excess = b.call("aten.sub.Tensor", {greatest, finite});
  Value* factor = one_over_rest(b, excess);
  Value* floor = b.call("aten.rsub.Scalar", {one_over_rest(b, factor), 1});
  Value* bias = b.call("aten.maximum.default", {floor, mask});
  Value* weights = b.call("aten._softmax.default", {b.call("aten.add.Tensor", {scores, bias}), -1, false});
  return b.call("aten.mul.Tensor", {weights, factor});
}

// The scores' softmax under the mask of the call.
Value* attention_weights(Builder& b, const OpCall& call, Value* scores) {
  Value* mask = to_compute_type(b, call.value("attn_mask"));
  if (mask != nullptr && mask->tensor().dtype == ScalarType::Bool) return masked_softmax(b, scores, mask);
  if (mask != nullptr) return biased_softmax(b, scores, mask);
  if (call.boolean("is_causal"))
    scores = b.call("aten.add.Tensor", {scores, causal_bias(b, call.tensor("query"), call.tensor("key"))});
  return b.call("aten._softmax.default", {scores, -1, false});
}

Replacement safe_softmax(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Value* x = to_dtype(b, b.own(call.value("self")), dtype_or(call, self.dtype));
  return one(guarded_softmax(b, x, call.integer("dim")));
}

// Half precision is computed in f32, like in eager PyTorch.
Replacement attention(Builder& b, const OpCall& call) {
  if (call.number("dropout_p") != 0) return type_error("attention with dropout is random; pass dropout_p=0");
  Value* query = to_compute_type(b, call.value("query"));
  Value* key = to_compute_type(b, call.value("key"));
  Value* value = to_compute_type(b, call.value("value"));
  const TensorType& type = call.tensor("query");
  if (call.boolean("enable_gqa")) {
    if (type.rank() < 3 || key->tensor().rank() < 3)
      return type_error("grouped-query attention requires a dimension of heads");
    key = repeat_heads(b, key, type.sizes[type.rank() - 3]);
    value = repeat_heads(b, value, type.sizes[type.rank() - 3]);
  }
  if (call["scale"].is_none() && !type.sizes.back().is_constant()) {
    return type_error("attention requires a constant number of heads");
  }
  double scale = call["scale"].is_none() ? 1 / std::sqrt(static_cast<double>(type.sizes.back().value()))
                                         : call.number("scale");
  Value* scaled = b.call("aten.mul.Tensor", {query, scale});
  Value* scores = b.call("aten.matmul.default", {scaled, b.call("aten.transpose.int", {key, -2, -1})});
  Value* weights = attention_weights(b, call, scores);
  return one(to_dtype(b, b.call("aten.matmul.default", {weights, value}), type.dtype));
}

}  // namespace

std::span<const OpLine> attention_ops() {
  static constexpr OpLine lines[] = {
      {"aten.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
       "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
       in_autocast(AutocastLower, composite(infer_attention, attention))},
      {"aten._safe_softmax(Tensor self, int dim, ScalarType? dtype=None)", derived(safe_softmax)},
  };
  return lines;
}

}  // namespace depute::internal
