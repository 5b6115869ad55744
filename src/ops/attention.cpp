// Scaled dot product attention: softmax(q k^T * scale + mask) v.
//
// The scale goes on q, which is smaller than the scores. A row whose keys are all masked gives zeros, as in
// PyTorch; only a mask that is given can do that, so only then the rows are guarded.
#include <cmath>
#include <limits>

#include "depute/builder.h"
#include "ops/op_table.h"

namespace depute::internal {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

Types infer_attention(const OpCall& call) {
  const TensorType& query = call.tensor("query");
  const TensorType& value = call.tensor("value");
  if (query.rank() < 2 || value.rank() < 2)
    return argument_error("attention of tensors without two dimensions");
  Dims sizes = query.sizes;
  sizes.back() = value.sizes.back();
  return tensor_result(query.dtype, std::move(sizes));
}

// Each key head serves several query heads: [b, h, s, e] is repeated to [b, h * n, s, e].
Value* repeat_heads(Builder& b, Value* x, const SymInt& heads) {
  std::size_t place = x->tensor().rank() - 3;
  const SymInt& own = x->tensor().sizes[place];
  if (own == heads) return x;
  return b.call("aten.repeat_interleave.self_int",
                {x, b.size(floor_div(heads, own)), static_cast<std::int64_t>(place)});
}

// 0 where a query may see a key, -inf elsewhere.
Value* as_bias(Builder& b, Value* is_seen, ScalarType dtype) {
  Value* zero = b.call("aten.full.default", {Dims{}, 0, dtype});
  return b.call("aten.where.self", {is_seen, zero, minus_infinity});
}

Value* causal_bias(Builder& b, const TensorType& query, const TensorType& key) {
  Argument rows = b.size(query.sizes[query.rank() - 2]);
  Argument columns = b.size(key.sizes[key.rank() - 2]);
  Value* row = b.call("aten.unsqueeze.default", {b.call("aten.arange.start_step", {0, rows}), -1});
  Value* column = b.call("aten.arange.start_step", {0, columns});
  return as_bias(b, b.call("aten.le.Tensor", {column, row}), query.dtype);
}

// The mask of the call as something to add to the scores; null when there is none.
Value* bias_of(Builder& b, const OpCall& call) {
  if (call.boolean("is_causal")) return causal_bias(b, call.tensor("query"), call.tensor("key"));
  Value* mask = b.own(call.value("attn_mask"));
  if (mask == nullptr || mask->tensor().dtype != ScalarType::Bool) return mask;
  return as_bias(b, mask, call.tensor("query").dtype);
}

// softmax over the last dimension, with zeros for rows that are all -inf.
Value* guarded_softmax(Builder& b, Value* scores) {
  Value* highest = b.call("aten.amax.default", {scores, std::vector<std::int64_t>{-1}, true});
  Value* is_masked = b.call("aten.eq.Scalar", {highest, minus_infinity});
  Value* weights = b.call("aten._softmax.default", {scores, -1, false});
  return b.call("aten.where.self", {is_masked, 0, weights});
}

bool is_half(ScalarType dtype) {
  return dtype == ScalarType::F16 || dtype == ScalarType::BF16;
}

// torch computes the scores of halves in f32.
Replacement attention_of_halves(Builder& b, const OpCall& call) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool is_tensor = call[i].is_value() && call[i].as_value()->type().is_tensor();
    if (!is_tensor || !is_half(call[i].as_value()->tensor().dtype)) continue;
    args[i] = b.call("aten._to_copy.default", {call[i], ScalarType::F32});
  }
  Value* result = b.call(call.def().name.str(), args);
  return one(b.call("aten._to_copy.default", {result, call.tensor("query").dtype}));
}

Replacement attention(Builder& b, const OpCall& call) {
  if (call.number("dropout_p") != 0) return type_error("attention with dropout is random");
  if (is_half(call.tensor("query").dtype)) return attention_of_halves(b, call);
  Value* query = b.own(call.value("query"));
  Value* key = b.own(call.value("key"));
  Value* value = b.own(call.value("value"));
  const TensorType& type = query->tensor();
  if (call.boolean("enable_gqa")) {
    if (type.rank() < 3 || key->tensor().rank() < 3) return type_error("grouped attention without heads");
    key = repeat_heads(b, key, type.sizes[type.rank() - 3]);
    value = repeat_heads(b, value, type.sizes[type.rank() - 3]);
  }
  if (call["scale"].is_none() && !type.sizes.back().is_constant()) {
    return type_error("attention over heads of unknown size");
  }
  double scale = call["scale"].is_none() ? 1 / std::sqrt(static_cast<double>(type.sizes.back().value()))
                                         : call.number("scale");
  Value* scaled = b.call("aten.mul.Tensor", {query, scale});
  Value* scores = b.call("aten.matmul.default", {scaled, b.call("aten.transpose.int", {key, -2, -1})});
  Value* bias = bias_of(b, call);
  if (bias != nullptr) scores = b.call("aten.add.Tensor", {scores, bias});
  bool may_mask_rows = call.value("attn_mask") != nullptr;
  Value* weights =
      may_mask_rows ? guarded_softmax(b, scores) : b.call("aten._softmax.default", {scores, -1, false});
  return one(b.call("aten.matmul.default", {weights, value}));
}

}  // namespace

std::span<const OpLine> attention_ops() {
  static constexpr OpLine lines[] = {
      {"aten.scaled_dot_product_attention.default(Tensor query, Tensor key, Tensor value, Tensor? "
       "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool "
       "enable_gqa=False) -> Tensor",
       composite(infer_attention, attention)},
  };
  return lines;
}

}  // namespace depute::internal
