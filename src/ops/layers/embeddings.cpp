// Embedding bags, and embeddings with a maximum norm.
//
//   aten.embedding_bag.default(%w, %i, %offsets)        sums the rows of %w between two offsets
//     ->  bag = sum(offsets[:, None] <= arange(i), 0) - 1
//         index_put(zeros, [bag], embedding(w, i), accumulate=True)
#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

enum Mode { Sum, Mean, Max };

SymInt bag_count(const OpCall& call) {
  const SymInt& offsets = call.tensor("offsets").sizes[0];
  return call.boolean("include_last_offset") ? offsets - 1 : offsets;
}

// Returns the bags, and three tensors for the backward pass. The sizes of those depend on torch's algorithm,
// so they are taken from the file.
Types infer_embedding_bag(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() != 2 || call.tensor("indices").rank() != 1 || call.tensor("offsets").rank() != 1) {
    return argument_error("embedding_bag: a tensor has the wrong rank");
  }
  std::vector<Type> types{tensor_type({.dtype = weight.dtype, .sizes = {bag_count(call), weight.sizes[1]}})};
  for (std::size_t i = 1; i < 4; ++i) {
    bool is_known = call.node() != nullptr && call.node()->results().size() == 4;
    types.push_back(is_known ? call.node()->result(i)->type()
                             : tensor_type({.dtype = ScalarType::I64, .sizes = {0}}));
  }
  return types;
}

struct Bags {
  Value* rows;       // [indices, width]
  Value* is_behind;  // [bags, indices]: at or after the start of the bag
  Value* is_kept;    // [indices]; null if all are kept
  SymInt count;
};

Result<Bags> read_bags(Builder& b, const OpCall& call) {
  Value* indices = b.own(call.value("indices"));
  Value* starts = b.own(call.value("offsets"));
  Bags bags{.rows = nullptr, .is_behind = nullptr, .is_kept = nullptr, .count = bag_count(call)};
  if (call.boolean("include_last_offset")) {
    starts = b.call("aten.slice.Tensor", {starts, 0, 0, b.size(bags.count)});
  }
  Value* places = range(b, indices->tensor().sizes[0], starts->tensor().dtype);
  bags.is_behind = b.call("aten.le.Tensor", {b.call("aten.unsqueeze.default", {starts, 1}), places});
  bags.rows = to_compute_type(b, b.call("aten.embedding.default", {call["weight"], indices}));
  if (Value* factors = to_compute_type(b, call.value("per_sample_weights"))) {
    bags.rows = b.call("aten.mul.Tensor", {bags.rows, b.call("aten.unsqueeze.default", {factors, 1})});
  }
  bool has_padding = call.def().arg_index(Name("padding_idx")) >= 0 && call["padding_idx"].is_int();
  if (has_padding) {
    std::int64_t padding = call.integer("padding_idx");
    TRY(std::int64_t vocabulary, static_size(call.tensor("weight"), 0, "the number of embeddings"));
    bool is_plain = call.def().name != "aten.embedding_bag.padding_idx";
    if (padding < 0 && !is_plain) padding += vocabulary;
    if (padding >= 0) bags.is_kept = b.call("aten.ne.Scalar", {indices, padding});
  }
  return bags;
}

// Returns [bags, width]: the sums over the rows of each bag.
Value* sums(Builder& b, const Bags& bags, Value* bag, Value* rows) {
  if (bags.is_kept != nullptr) {
    rows = zero_unless(b, b.call("aten.unsqueeze.default", {bags.is_kept, 1}), rows);
  }
  if (rows == nullptr) return nullptr;
  Dims sizes{bags.count, rows->tensor().sizes[1]};
  Value* empty = b.call("aten.full.default", {sizes, 0, rows->tensor().dtype});
  return b.call("aten.index_put.default", {empty, std::vector<Value*>{bag}, rows, true});
}

Value* greatest(Builder& b, const Bags& bags, Value* bag) {
  Value* own = range(b, bags.count);
  Value* is_in = b.call("aten.eq.Tensor", {b.call("aten.unsqueeze.default", {own, 1}), bag});
  if (bags.is_kept != nullptr) is_in = b.call("aten.logical_and.default", {is_in, bags.is_kept});
  is_in = b.call("aten.unsqueeze.default", {is_in, 2});
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  Value* rows = b.call("aten.where.self", {is_in, bags.rows, lowest});
  Value* top = b.call("aten.amax.default", {rows, Ints{1}});
  return zero_unless(b, b.call("aten.any.dim", {is_in, 1}), top);
}

Replacement embedding_bag(Builder& b, const OpCall& call) {
  ScalarType dtype = call.tensor("weight").dtype;
  TRY(Bags bags, read_bags(b, call));
  Value* starts = b.call("aten.sum.dim_IntList", {bags.is_behind, Ints{0}});
  Value* bag = b.call("aten.sub.Tensor", {starts, 1});
  Value* result = nullptr;
  if (call.integer("mode") == Max) {
    result = greatest(b, bags, bag);
  } else {
    result = sums(b, bags, bag, bags.rows);
  }
  if (call.integer("mode") == Mean) {
    SymInt length = call.tensor("indices").sizes[0];
    Value* ones = b.call("aten.full.default", {Dims{length, 1}, 1, compute_type(dtype)});
    Value* counts = b.call("aten.clamp.default", {sums(b, bags, bag, ones), 1});
    result = b.call("aten.div.Tensor", {result, counts});
  }
  return std::vector<Value*>{to_dtype(b, result, dtype), nullptr, nullptr, nullptr};
}

// Scales rows that are looked up to the maximum norm if they exceed it.
Replacement embedding_renorm(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() != 2) return argument_error("an embedding's weight must have rank 2");
  Value* norm = b.call("aten.linalg_vector_norm.default", {call["self"], call["norm_type"], Ints{1}, true});
  Value* limit = b.call("aten.add.Tensor", {norm, 1e-7});
  Value* factor = b.call("aten.mul.Tensor", {b.call("aten.reciprocal.default", {limit}), call["max_norm"]});
  Value* none = b.call("aten.full.default", {Dims{self.sizes[0]}, false, ScalarType::Bool});
  Value* flat = b.view(b.own(call.value("indices")), {call.tensor("indices").numel()});
  Value* truth = b.call("aten.full.default", {Dims{}, true, ScalarType::Bool});
  Value* is_used = b.call("aten.index_put.default", {none, std::vector<Value*>{flat}, truth});
  Value* is_long = b.call("aten.gt.Scalar", {norm, call["max_norm"]});
  Value* is_cut =
      b.call("aten.logical_and.default", {is_long, b.call("aten.unsqueeze.default", {is_used, 1})});
  Value* cut = b.call("aten.mul.Tensor", {call["self"], factor});
  return one(b.call("aten.where.self", {is_cut, cut, call["self"]}));
}

}  // namespace

std::span<const OpLine> embedding_ops() {
  static constexpr OpLine lines[] = {
      {"aten._embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
       "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int "
       "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
       composite(infer_embedding_bag, embedding_bag)},
      {"aten._embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
       "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
       "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
       composite(infer_embedding_bag, embedding_bag)},
      {"aten.embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int "
       "mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> "
       "(Tensor, Tensor, Tensor, Tensor)",
       composite(infer_embedding_bag, embedding_bag)},
      {"aten.embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
       "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, "
       "int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
       composite(infer_embedding_bag, embedding_bag)},
      {"aten.embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type)",
       composite(infer_same_type, embedding_renorm, InPlaceVariant)},
  };
  return lines;
}

}  // namespace depute::internal
