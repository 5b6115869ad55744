// Sizes and other numbers computed at run time, and assertions about them. Types are those of the file.
// Assertions are removed, since the runtime has no kernels for them, and so are queries that were answered
// during tracing:
//
//   %_: none = aten.promote_types.default(.f32, .f16)        gone
#include "depute/program/builder.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr OpRules number(const char* out) {
  return {.flags = Core | Symbolic, .out = out};
}
constexpr OpRules assertion() {
  return {.flags = Assertion, .infer = infer_nothing};
}

Types infer_none(const OpCall&) {
  return std::vector<Type>(1);
}

Types infer_square_root(const OpCall& call) {
  Type type{.kind = Type::Kind::SymFloat};
  const Argument& a = call["a"];
  const SymExpr* of = a.is_value() ? a.as_value()->type().expr : sym_float(a.as_double());
  if (of != nullptr) type.expr = sym_call("OpaqueUnaryFn_sqrt", {of});
  return std::vector<Type>{type};
}
// The runtime has no root of numbers, but one of tensors: %r = item(sqrt(scalar_tensor(%a))).
Replacement square_root(Builder& b, const OpCall& call) {
  Value* tensor = b.call("aten.scalar_tensor.default", {call["a"], ScalarType::F64});
  TRY(std::vector<Type> types, infer_square_root(call));
  return b.call_typed("aten._local_scalar_dense.default", {b.call("aten.sqrt.default", {tensor})}, types);
}

constexpr OpRules answered() {
  return {.flags = Assertion, .infer = infer_none};
}

}  // namespace

std::span<const OpLine> symbolic_ops() {
  static constexpr OpLine lines[] = {
      {"aten.sym_size.int(Tensor self, int dim) -> SymInt", number("sym_size.int")},
      {"aten.sym_numel(Tensor self) -> SymInt", number("sym_numel")},
      {"aten.sym_stride.int(Tensor self, int dim) -> SymInt", opaque(Symbolic)},
      {"aten.sym_storage_offset(Tensor self) -> SymInt", opaque(Symbolic)},
      {"aten._local_scalar_dense(Tensor self) -> Scalar", number("_local_scalar_dense")},
      {"aten.item(Tensor self) -> Scalar",
       {.flags = Symbolic, .functional = "aten._local_scalar_dense.default"}},
      {"_operator.add(Scalar a, Scalar b) -> Scalar", number("executorch_prim::add.Scalar")},
      {"_operator.sub(Scalar a, Scalar b) -> Scalar", number("executorch_prim::sub.Scalar")},
      {"_operator.mul(Scalar a, Scalar b) -> Scalar", number("executorch_prim::mul.Scalar")},
      {"_operator.floordiv(Scalar a, Scalar b) -> Scalar", number("executorch_prim::floordiv.Scalar")},
      {"_operator.truediv(Scalar a, Scalar b) -> Scalar", number("executorch_prim::truediv.Scalar")},
      {"_operator.mod(Scalar a, Scalar b) -> Scalar", number("executorch_prim::mod.Scalar")},
      {"_operator.pow(Scalar a, Scalar b) -> Scalar", opaque(Symbolic)},
      {"_operator.neg(Scalar a) -> Scalar", number("executorch_prim::neg.Scalar")},
      {"_operator.pos(Scalar a) -> Scalar", opaque(Symbolic)},
      {"_operator.eq(Scalar a, Scalar b) -> bool", number("executorch_prim::eq.Scalar")},
      {"_operator.ne(Scalar a, Scalar b) -> bool", opaque(Symbolic)},
      {"_operator.lt(Scalar a, Scalar b) -> bool", number("executorch_prim::lt.Scalar")},
      {"_operator.le(Scalar a, Scalar b) -> bool", number("executorch_prim::le.Scalar")},
      {"_operator.gt(Scalar a, Scalar b) -> bool", number("executorch_prim::gt.Scalar")},
      {"_operator.ge(Scalar a, Scalar b) -> bool", number("executorch_prim::ge.Scalar")},
      {"_operator.and_(Scalar a, Scalar b) -> bool", opaque(Symbolic)},
      {"_operator.or_(Scalar a, Scalar b) -> bool", opaque(Symbolic)},
      {"_operator.lshift(Scalar a, Scalar b) -> Scalar", opaque(Symbolic)},
      {"_operator.rshift(Scalar a, Scalar b) -> Scalar", opaque(Symbolic)},
      {"torch.sym_max(Scalar a, Scalar b) -> Scalar", number("executorch_prim::sym_max.Scalar")},
      {"torch.sym_min(Scalar a, Scalar b) -> Scalar", number("executorch_prim::sym_min.Scalar")},
      {"torch.sym_float(Scalar a) -> float", number("executorch_prim::sym_float.Scalar")},
      {"torch.sym_int(Scalar a) -> int", number("executorch_prim::sym_int.Scalar")},
      {"torch.sym_not(Scalar a) -> bool", number("executorch_prim::sym_not.Scalar")},
      {"torch.sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar", number("executorch_prim::sym_ite.Scalar")},
      {"torch._sym_sqrt(Scalar a) -> float",
       {.flags = Symbolic, .infer = infer_square_root, .decompose = square_root}},
      {"math.trunc(Scalar x) -> Scalar", number("executorch_prim::trunc.Scalar")},
      {"aten._assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? "
       "dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
       assertion()},
      {"aten._assert_scalar(Scalar self, str assert_msg) -> ()", assertion()},
      {"aten._assert_async(Tensor self) -> ()", assertion()},
      {"aten._assert_async.msg(Tensor self, str assert_msg) -> ()", assertion()},
      {"aten.sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", assertion()},
      {"aten.sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", assertion()},
      {"aten.can_cast(ScalarType from_, ScalarType to) -> bool", answered()},
      {"aten.is_same_size(Tensor self, Tensor other) -> bool", answered()},
      {"aten.promote_types(ScalarType type1, ScalarType type2) -> ScalarType", answered()},
      {"aten.result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType", answered()},
      {"aten.result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType", answered()},
      {"aten.result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType", answered()},
      {"aten.result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType", answered()},
  };
  return lines;
}

}  // namespace depute::internal
