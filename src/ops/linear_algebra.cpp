// Matrix products. aten.linear stays whole; matmul and its relatives become mm and bmm on views.
//
//   aten.matmul.default(f32[2, 5, 3], f32[3, 4])  ->  view [10, 3], mm, view [2, 5, 4]
#include <fmt/format.h>

#include "depute/builder.h"
#include "ops/einsum.h"
#include "ops/kernel_forms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

SymInt product_of(const Dims& sizes) {
  return product({sizes.data(), sizes.size()});
}

Status expect_equal(const SymInt& a, const SymInt& b) {
  if (a == b || !a.is_constant() || !b.is_constant()) return {};
  return type_error(fmt::format("inner sizes {} and {} differ", a.str(), b.str()));
}

Status expect_rank(const TensorType& type, std::size_t rank) {
  if (type.rank() == rank) return {};
  return type_error(fmt::format("a tensor of rank {} where rank {} is needed", type.rank(), rank));
}

Types infer_linear(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() != 2 || input.rank() == 0) return type_error("linear needs a weight of rank 2");
  TRY_STATUS(expect_equal(input.sizes.back(), weight.sizes[1]));
  Dims sizes = input.sizes;
  sizes.back() = weight.sizes[0];
  return tensor_result(input.dtype, std::move(sizes));
}

Types infer_mm(const OpCall& call) {
  const TensorType& a = call.tensor("self");
  const TensorType& b = call.tensor("mat2");
  TRY_STATUS(expect_rank(a, 2));
  TRY_STATUS(expect_rank(b, 2));
  TRY_STATUS(expect_equal(a.sizes[1], b.sizes[0]));
  return tensor_result(a.dtype, {a.sizes[0], b.sizes[1]});
}

Types infer_bmm(const OpCall& call) {
  const TensorType& a = call.tensor("self");
  const TensorType& b = call.tensor("mat2");
  TRY_STATUS(expect_rank(a, 3));
  TRY_STATUS(expect_rank(b, 3));
  TRY_STATUS(expect_equal(a.sizes[0], b.sizes[0]));
  TRY_STATUS(expect_equal(a.sizes[2], b.sizes[1]));
  return tensor_result(a.dtype, {a.sizes[0], a.sizes[1], b.sizes[2]});
}

Types infer_addmm(const OpCall& call) {
  const TensorType& a = call.tensor("mat1");
  const TensorType& b = call.tensor("mat2");
  TRY_STATUS(expect_rank(a, 2));
  TRY_STATUS(expect_rank(b, 2));
  TRY_STATUS(expect_equal(a.sizes[1], b.sizes[0]));
  return tensor_result(a.dtype, {a.sizes[0], b.sizes[1]});
}

Types infer_baddbmm(const OpCall& call) {
  const TensorType& a = call.tensor("batch1");
  const TensorType& b = call.tensor("batch2");
  TRY_STATUS(expect_rank(a, 3));
  TRY_STATUS(expect_rank(b, 3));
  return tensor_result(a.dtype, {a.sizes[0], a.sizes[1], b.sizes[2]});
}

// --- matmul

Dims batch_sizes(const TensorType& type) {
  return Dims(type.sizes.begin(), type.sizes.end() - 2);
}

Types infer_matmul(const OpCall& call) {
  TensorType a = call.tensor("self");
  TensorType b = call.tensor("other");
  if (a.rank() == 0 || b.rank() == 0) return argument_error("matmul of a tensor without dimensions");
  bool is_row = a.rank() == 1, is_column = b.rank() == 1;
  if (is_row) a.sizes.insert(a.sizes.begin(), SymInt(1));
  if (is_column) b.sizes.push_back(1);
  TRY_STATUS(expect_equal(a.sizes.back(), b.sizes[b.rank() - 2]));
  TRY(Dims sizes, broadcast(batch_sizes(a), batch_sizes(b)));
  if (!is_row) sizes.push_back(a.sizes[a.rank() - 2]);
  if (!is_column) sizes.push_back(b.sizes.back());
  return tensor_result(a.dtype, std::move(sizes));
}

// `x` with its batch dimensions broadcast to `batch`, as one dimension.
Value* flat_batch(Builder& b, Value* x, const Dims& batch) {
  Dims sizes = batch;
  const Dims& own = x->tensor().sizes;
  sizes.insert(sizes.end(), own.end() - 2, own.end());
  if (sizes != own) x = b.call("aten.expand.default", {x, sizes});
  if (b.failed()) return nullptr;
  return b.view(x, {product_of(batch), sizes[sizes.size() - 2], sizes.back()});
}

// The product of two tensors of rank 2 or more, by one mm or bmm.
Value* batched_product(Builder& b, Value* left, Value* right) {
  const TensorType& a = left->tensor();
  const TensorType& c = right->tensor();
  if (a.rank() == 2 && c.rank() == 2) return b.call("aten.mm.default", {left, right});
  if (c.rank() == 2) {  // the batch is more rows
    Dims rows(a.sizes.begin(), a.sizes.end() - 1);
    Dims sizes = rows;
    sizes.push_back(c.sizes[1]);
    Value* flat = b.view(left, {product_of(rows), a.sizes.back()});
    Value* product = b.call("aten.mm.default", {flat, right});
    return b.failed() ? nullptr : b.view(product, sizes);
  }
  auto batch = broadcast(batch_sizes(a), batch_sizes(c));
  if (!batch) {
    b.fail(batch.error());
    return nullptr;
  }
  Dims sizes = *batch;
  sizes.push_back(a.sizes[a.rank() - 2]);
  sizes.push_back(c.sizes.back());
  Value* product = b.call("aten.bmm.default", {flat_batch(b, left, *batch), flat_batch(b, right, *batch)});
  return b.failed() ? nullptr : b.view(product, sizes);
}

Replacement matmul(Builder& b, const OpCall& call) {
  Value* left = b.own(call.value("self"));
  Value* right = b.own(call.value("other"));
  TRY(std::vector<Type> types, infer_matmul(call));
  if (left->tensor().rank() == 1) left = b.view(left, {1, left->tensor().sizes[0]});
  if (right->tensor().rank() == 1) right = b.view(right, {right->tensor().sizes[0], 1});
  if (b.failed()) return Failure(b.status().error());
  Value* result = batched_product(b, left, right);
  if (b.failed()) return Failure(b.status().error());
  return one(b.view(result, types[0].tensor.sizes));
}

// beta * self + alpha * (batch1 @ batch2)
Replacement baddbmm(Builder& b, const OpCall& call) {
  auto scaled = [&](Value* value, std::string_view factor) {
    const Argument& number = call[factor];
    if (number.is_number() && number.as_double() == 1) return value;
    return b.call("aten.mul.Tensor", {value, number});
  };
  Value* product = scaled(b.call("aten.bmm.default", {call["batch1"], call["batch2"]}), "alpha");
  return one(b.call("aten.add.Tensor", {scaled(b.own(call.value("self")), "beta"), product}));
}

Types infer_outer(const OpCall& call) {
  TRY_STATUS(expect_rank(call.tensor("self"), 1));
  TRY_STATUS(expect_rank(call.tensor("vec2"), 1));
  ScalarType dtype = promote(call.tensor("self").dtype, call.tensor("vec2").dtype);
  return tensor_result(dtype, {call.tensor("self").sizes[0], call.tensor("vec2").sizes[0]});
}
Replacement outer(Builder& b, const OpCall& call) {
  Value* column = b.call("aten.unsqueeze.default", {call["self"], 1});
  return one(b.call("aten.mul.Tensor", {column, call["vec2"]}));
}

Types infer_dot(const OpCall& call) {
  TRY_STATUS(expect_rank(call.tensor("self"), 1));
  return tensor_result(call.tensor("self").dtype, {});
}
Types infer_mv(const OpCall& call) {
  TRY_STATUS(expect_rank(call.tensor("self"), 2));
  return tensor_result(call.tensor("self").dtype, {call.tensor("self").sizes[0]});
}
Replacement by_matmul(Builder& b, const OpCall& call) {
  return one(b.call("aten.matmul.default", call.args()));
}

}  // namespace

std::span<const OpLine> linear_algebra_ops() {
  static constexpr OpLine lines[] = {
      {"aten.linear.default(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
       fitted(linear_of_rows, kernel("linear.out", infer_linear))},
      {"aten.mm.default(Tensor self, Tensor mat2) -> Tensor", kernel("mm.out", infer_mm)},
      {"aten.bmm.default(Tensor self, Tensor mat2) -> Tensor", kernel("bmm.out", infer_bmm)},
      {"aten.addmm.default(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
       "Tensor",
       kernel("addmm.out", infer_addmm)},
      {"aten.matmul.default(Tensor self, Tensor other) -> Tensor", composite(infer_matmul, matmul)},
      {"aten.baddbmm.default(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
       "Tensor",
       composite(infer_baddbmm, baddbmm)},
      {"aten.outer.default(Tensor self, Tensor vec2) -> Tensor", composite(infer_outer, outer)},
      {"aten.dot.default(Tensor self, Tensor tensor) -> Tensor", composite(infer_dot, by_matmul)},
      {"aten.mv.default(Tensor self, Tensor vec) -> Tensor", composite(infer_mv, by_matmul)},
      {"aten._cdist_forward.default(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
       opaque(core, "_cdist_forward.out")},
      {"aten._pdist_forward.default(Tensor self, float p=2.) -> Tensor", opaque(core, "_pdist_forward.out")},
      {"aten.einsum.default(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
       composite(infer_einsum, einsum)},
  };
  return lines;
}

}  // namespace depute::internal
