// Products of rows with one of several matrices, for mixtures of experts. offs[e] is the end of the rows of
// expert e.
//
//   aten._grouped_mm.default(f32[6, 16], f32[4, 16, 8], i32[4])     few rows: each gets its own matrix
//   ->
//   e = sum(ge([0 .. 5], offs))                                     the expert of each row
//   bmm(x as [6, 1, 16], weight[e])
//
//   aten._grouped_mm.default(f32[s0, 16], f32[4, 16, 8], i32[4])    many: each matrix gets all rows
//   ->
//   where(eq(e, 3), mm(x, weight[3]), where(eq(e, 2), mm(x, weight[2]), ..))
//
// The matrix of an mm is a constant, which backends support; gathered copies of matrices are not. Rows after
// the last end are zeros.
#include <fmt/format.h>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t max_experts = 4096;  // each needs several nodes

Status expect_rows_and_matrices(const TensorType& rows, const TensorType& matrices) {
  if (rows.rank() == 2 && matrices.rank() == 3) return {};
  return argument_error(
      fmt::format("a grouped matrix product requires operands of rank 2 and 3, got {} and {}", rows.rank(),
                  matrices.rank()));
}

// Returns the expert of each row as [rows, 1]; the number of experts for rows after the last end.
Value* expert_of_rows(Builder& b, const SymInt& rows, const Value* ends) {
  Value* row = along(b, range(b, rows), 0, 2);
  Value* end = along(b, to_dtype(b, b.own(ends), ScalarType::I64), 1, 2);
  Value* is_behind = b.call("aten.ge.Tensor", {row, end});
  return b.call("aten.sum.dim_IntList", {is_behind, std::vector<std::int64_t>{1}, true});
}

Value* by_own_matrices(Builder& b, Value* x, Value* weight, Value* expert, std::int64_t experts) {
  const SymInt rows = x->tensor().sizes[0];
  Value* is_any = b.call("aten.lt.Scalar", {expert, experts});
  Value* index = reshape(b, b.call("aten.clamp.default", {expert, Argument::none(), experts - 1}), {rows});
  Value* own = b.call("aten.index_select.default", {weight, 0, index});
  Value* products = b.call("aten.bmm.default", {b.view(x, {rows, 1, x->tensor().sizes[1]}), own});
  return zero_unless(b, is_any, reshape(b, products, {rows, weight->tensor().sizes[2]}));
}

Value* by_all_matrices(Builder& b, Value* x, Value* weight, Value* expert, std::int64_t experts) {
  Value* result = nullptr;
  for (std::int64_t e = 0; e < experts; ++e) {
    Value* product = b.call("aten.mm.default", {x, b.call("aten.select.int", {weight, 0, e})});
    Value* is_own = b.call("aten.eq.Scalar", {expert, e});
    result = e == 0 ? zero_unless(b, is_own, product) : b.call("aten.where.self", {is_own, product, result});
  }
  return result;
}

Replacement grouped_rows(Builder& b, const OpCall& call, std::string_view rows, std::string_view matrices) {
  const TensorType &left = call.tensor(rows), &right = call.tensor(matrices);
  TRY_STATUS(expect_rows_and_matrices(left, right));
  if (!right.sizes[0].is_constant()) return argument_error("the number of experts must be a constant");
  const std::int64_t experts = right.sizes[0].value();
  if (experts == 0) return argument_error("a grouped matrix product requires at least one matrix");
  if (experts > max_experts)
    return type_error(fmt::format("a grouped matrix product of {} matrices is not supported", experts));
  TRY(std::vector<Type> types, call.def().infer(call));
  Value* x = to_compute_type(b, b.own(call.value(rows)));
  Value* weight = to_compute_type(b, b.own(call.value(matrices)));
  Value* expert = expert_of_rows(b, left.sizes[0], call.value("offs"));
  const bool are_few = left.sizes[0].is_constant() && left.sizes[0].value() <= experts;
  Value* product = are_few ? by_own_matrices(b, x, weight, expert, experts)
                           : by_all_matrices(b, x, weight, expert, experts);
  return one(to_dtype(b, product, types[0].tensor.dtype));
}

// --- transformers' own op

Types infer_fallback(const OpCall& call) {
  const TensorType &x = call.tensor("input"), &weight = call.tensor("weight");
  TRY_STATUS(expect_rows_and_matrices(x, weight));
  return tensor_result(x.dtype, {x.sizes[0], weight.sizes[2]});
}

// --- torch's

ScalarType grouped_type(const OpCall& call) {
  const Argument& given = call["out_dtype"];
  return given.is_none() ? call.tensor("self").dtype : given.as_scalar_type();
}
Types infer_grouped(const OpCall& call) {
  const TensorType &left = call.tensor("self"), &right = call.tensor("mat2");
  if (left.rank() == 3 && right.rank() == 3 && call["offs"].is_none())
    return tensor_result(grouped_type(call), {left.sizes[0], left.sizes[1], right.sizes[2]});
  TRY_STATUS(expect_rows_and_matrices(left, right));
  return tensor_result(grouped_type(call), {left.sizes[0], right.sizes[2]});
}
Replacement grouped_mm(Builder& b, const OpCall& call) {
  if (!call["bias"].is_none()) return argument_error("a grouped matrix product with a bias is not supported");
  if (!call["offs"].is_none()) return grouped_rows(b, call, "self", "mat2");
  Value* left = to_compute_type(b, b.own(call.value("self")));
  Value* right = to_compute_type(b, b.own(call.value("mat2")));
  return one(to_dtype(b, b.call("aten.bmm.default", {left, right}), grouped_type(call)));
}

}  // namespace

std::span<const OpLine> expert_ops() {
  static constexpr OpLine lines[] = {
      {"aten._grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
       "out_dtype=None)",
       composite(infer_grouped, grouped_mm)},
      {"transformers.grouped_mm_fallback.default(Tensor input, Tensor weight, Tensor offs)",
       composite(infer_fallback, given<grouped_rows, Text("input"), Text("weight")>)},
  };
  return lines;
}

}  // namespace depute::internal
