// Products of vectors and tensors in a few steps of mm (linear_algebra.cpp) or mul.
//
//   aten.tensordot.default(f32[2, 3, 4], f32[4, 5], [2], [0])   ->   view [6, 4], mm, view [2, 3, 5]
//   aten.kron.default(f32[2], f32[3])                           ->   mul of [2, 1] and [1, 3], view [6]
//   aten.addmv.default(%y, %m, %x, beta=2)                      ->   2 * y + mv(m, x)
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Dims joined(std::span<const SymInt> front, std::span<const SymInt> back) {
  Dims sizes(front.begin(), front.end());
  sizes.insert(sizes.end(), back.begin(), back.end());
  return sizes;
}
std::span<const SymInt> all_but_last(const TensorType& type) {
  return {type.sizes.data(), type.rank() - 1};
}

// --- beta * self + alpha * product

bool is_number(const Argument& factor, double value) {
  return factor.is_number() && factor.as_double() == value;
}
// Factors are truncated to integers if the result has integers.
Argument factor_of(const OpCall& call, std::string_view name, ScalarType type) {
  const Argument& factor = call[name];
  const bool is_cut = factor.kind == Argument::Kind::Float && !is_floating(type) && !is_complex(type);
  return is_cut ? Argument::of(static_cast<std::int64_t>(factor.as_double())) : factor;
}
Value* scaled(Builder& b, Value* x, const Argument& factor) {
  return is_number(factor, 1) ? x : b.call("aten.mul.Tensor", {x, factor});
}
// If beta is 0, self is ignored, even NaN.
Replacement weighted_sum(Builder& b, const OpCall& call, Value* product) {
  TRY(std::vector<Type> types, call.def().infer(call));
  const ScalarType type = types[0].tensor.dtype;
  Argument beta = factor_of(call, "beta", type);
  product = scaled(b, product, factor_of(call, "alpha", type));
  if (!is_number(beta, 0)) {
    return one(b.call("aten.add.Tensor", {scaled(b, b.own(call.value("self")), beta), product}));
  }
  return one(b.call("aten.expand.default", {product, types[0].tensor.sizes}));
}

Status expect_rank(const OpCall& call, std::string_view name, std::size_t rank) {
  std::size_t own = call.tensor(name).rank();
  if (own == rank) return {};
  return argument_error(fmt::format("'{}' has rank {}; expected rank {}", name, own, rank));
}

Types infer_addbmm(const OpCall& call) {
  TRY_STATUS(expect_rank(call, "batch1", 3));
  TRY_STATUS(expect_rank(call, "batch2", 3));
  const Dims &a = call.tensor("batch1").sizes, &c = call.tensor("batch2").sizes;
  return tensor_result(call.tensor("self").dtype, {a[1], c[2]});
}
// Computes the sum over the batch by one product: matrices are joined along the inner dimension.
Replacement addbmm(Builder& b, const OpCall& call) {
  const Dims &a = call.tensor("batch1").sizes, &c = call.tensor("batch2").sizes;
  Value* left = b.call("aten.permute.default", {call["batch1"], Ints{1, 0, 2}});
  left = b.view(left, {a[1], a[0] * a[2]});
  Value* right = b.view(b.own(call.value("batch2")), {c[0] * c[1], c[2]});
  return weighted_sum(b, call, b.call("aten.mm.default", {left, right}));
}

Types infer_addmv(const OpCall& call) {
  TRY_STATUS(expect_rank(call, "mat", 2));
  TRY_STATUS(expect_rank(call, "vec", 1));
  return tensor_result(call.tensor("self").dtype, {call.tensor("mat").sizes[0]});
}
Replacement addmv(Builder& b, const OpCall& call) {
  return weighted_sum(b, call, b.call("aten.mv.default", {call["mat"], call["vec"]}));
}

Types infer_addr(const OpCall& call) {
  TRY_STATUS(expect_rank(call, "vec1", 1));
  TRY_STATUS(expect_rank(call, "vec2", 1));
  return tensor_result(promoted_type(call), {call.tensor("vec1").sizes[0], call.tensor("vec2").sizes[0]});
}
Replacement addr(Builder& b, const OpCall& call) {
  Value* column = b.call("aten.unsqueeze.default", {call["vec1"], 1});
  if (promoted_type(call) != ScalarType::Bool) {
    return weighted_sum(b, call, b.call("aten.mul.Tensor", {column, call["vec2"]}));
  }
  TRY(std::vector<Type> types, infer_addr(call));
  Value* both = is_number(call["alpha"], 0)
                    ? b.call("aten.full.default", {types[0].tensor.sizes, false, ScalarType::Bool})
                    : b.call("aten.logical_and.default", {column, call["vec2"]});
  if (is_number(call["beta"], 0)) return one(both);
  return one(b.call("aten.logical_or.default", {call["self"], both}));
}

// --- sums over shared dimensions

// Multiplies two tensors over the last `inner` dimensions of the first and the first `inner` ones of the
// second.
Value* contracted(Builder& b, Value* left, Value* right, std::size_t inner) {
  const Dims a = left->tensor().sizes, c = right->tensor().sizes;
  std::span<const SymInt> rows(a.data(), a.size() - inner), columns(c.data() + inner, c.size() - inner);
  SymInt shared = product({c.data(), inner});
  Value* matrix = b.view(left, {product(rows), shared});
  Value* result = b.call("aten.mm.default", {matrix, b.view(right, {shared, product(columns)})});
  return b.view(result, joined(rows, columns));
}

Types infer_inner(const OpCall& call) {
  const TensorType &a = call.tensor("self"), &c = call.tensor("other");
  if (a.rank() == 0 || c.rank() == 0)
    return tensor_result(promote(a.dtype, c.dtype), joined(a.sizes, c.sizes));
  return tensor_result(a.dtype, joined(all_but_last(a), all_but_last(c)));
}
Replacement inner(Builder& b, const OpCall& call) {
  std::size_t rank = call.tensor("other").rank();
  if (call.tensor("self").rank() == 0 || rank == 0) {
    return one(b.call("aten.mul.Tensor", {call["self"], call["other"]}));
  }
  Value* right = b.own(call.value("other"));
  if (rank > 1) right = b.call("aten.movedim.int", {right, -1, 0});
  return one(contracted(b, b.own(call.value("self")), right, 1));
}

// One operand of tensordot: the dimensions to sum over, and the dimensions kept before or after them.
struct Side {
  Ints dims, order;
  Dims kept;
};
Result<Side> read_side(const OpCall& call, std::string_view tensor, std::string_view name, bool is_left) {
  const TensorType& type = call.tensor(tensor);
  Side side;
  for (std::int64_t dim : call.ints(name)) {
    TRY(std::size_t wrapped, wrap_dim(dim, type.rank()));
    side.dims.push_back(static_cast<std::int64_t>(wrapped));
  }
  for (std::size_t i = 0; i < type.rank(); ++i) {
    if (std::ranges::find(side.dims, static_cast<std::int64_t>(i)) != side.dims.end()) continue;
    side.order.push_back(static_cast<std::int64_t>(i));
    side.kept.push_back(type.sizes[i]);
  }
  side.order.insert(is_left ? side.order.end() : side.order.begin(), side.dims.begin(), side.dims.end());
  if (side.order.size() != type.rank()) return argument_error("tensordot has a duplicate dimension");
  return side;
}
Types infer_tensordot(const OpCall& call) {
  TRY(Side left, read_side(call, "self", "dims_self", true));
  TRY(Side right, read_side(call, "other", "dims_other", false));
  if (left.dims.size() != right.dims.size())
    return argument_error("tensordot requires lists of dimensions of the same length");
  return tensor_result(call.tensor("self").dtype, joined(left.kept, right.kept));
}
// A dimension of size 1 broadcasts to a longer one: the other operand is summed over it.
Value* summed_where_single(Builder& b, Value* x, const Side& own, const TensorType& type, const Side& other) {
  Ints dims;
  for (std::size_t i = 0; i < own.dims.size(); ++i) {
    bool is_single = type.sizes[static_cast<std::size_t>(other.dims[i])] == 1;
    if (is_single && x->tensor().sizes[static_cast<std::size_t>(own.dims[i])] != 1)
      dims.push_back(own.dims[i]);
  }
  return dims.empty() ? x : b.call("aten.sum.dim_IntList", {x, dims, true, x->tensor().dtype});
}
Replacement tensordot(Builder& b, const OpCall& call) {
  TRY(Side left, read_side(call, "self", "dims_self", true));
  TRY(Side right, read_side(call, "other", "dims_other", false));
  Value* a = summed_where_single(b, b.own(call.value("self")), left, call.tensor("other"), right);
  Value* c = summed_where_single(b, b.own(call.value("other")), right, call.tensor("self"), left);
  if (!std::ranges::is_sorted(left.order)) a = b.call("aten.permute.default", {a, left.order});
  if (!std::ranges::is_sorted(right.order)) c = b.call("aten.permute.default", {c, right.order});
  return one(contracted(b, a, c, left.dims.size()));
}

Types infer_vecdot(const OpCall& call) {
  TRY(Dims sizes, broadcast(call.tensor("x").sizes, call.tensor("y").sizes));
  if (sizes.empty()) return argument_error("vecdot requires tensors of rank 1 or more");
  TRY(std::size_t dim, wrap_dim(call.integer("dim"), sizes.size()));
  return tensor_result(promoted_type(call), reduced_sizes(sizes, std::span(&dim, 1), false));
}
Replacement vecdot(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_vecdot(call));
  Value* x = b.own(call.value("x"));
  if (is_complex(x->tensor().dtype)) x = b.call("aten._conj.default", {x});
  Value* products = b.call("aten.mul.Tensor", {x, call["y"]});
  return one(
      b.call("aten.sum.dim_IntList", {products, Ints{call.integer("dim")}, false, types[0].tensor.dtype}));
}

// --- elementwise products

Types infer_kron(const OpCall& call) {
  std::size_t rank = std::max(call.tensor("self").rank(), call.tensor("other").rank());
  Dims sizes = with_rank(call.tensor("self").sizes, rank),
       other = with_rank(call.tensor("other").sizes, rank);
  for (std::size_t i = 0; i < rank; ++i) sizes[i] = sizes[i] * other[i];
  return tensor_result(promoted_type(call), std::move(sizes));
}
// [a0, 1, a1, 1, ...] * [1, b0, 1, b1, ...]
Replacement kron(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_kron(call));
  std::size_t rank = types[0].tensor.rank();
  if (2 * rank > max_rank)
    return type_error(fmt::format("kron of tensors of rank {} is not supported", rank));
  auto spread = [&](std::string_view name, std::size_t place) {
    Dims own = with_rank(call.tensor(name).sizes, rank), sizes(2 * rank, SymInt(1));
    for (std::size_t i = 0; i < rank; ++i) sizes[2 * i + place] = own[i];
    return b.view(b.own(call.value(name)), sizes);
  };
  Value* product = b.call("aten.mul.Tensor", {spread("self", 0), spread("other", 1)});
  return one(reshape(b, product, types[0].tensor.sizes));
}

// Along the dimension of size 3: a[1, 2, 0] * b[2, 0, 1] - a[2, 0, 1] * b[1, 2, 0].
Result<std::size_t> cross_dim(const OpCall& call, const Dims& sizes) {
  if (!call["dim"].is_none()) return wrap_dim(call.integer("dim"), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 3) return i;
  }
  return argument_error("cross requires a dimension of size 3");
}
Types infer_cross(const OpCall& call) {
  TRY(Dims sizes, broadcast(call.tensor("self").sizes, call.tensor("other").sizes));
  TRY(std::size_t dim, cross_dim(call, call.tensor("self").sizes));
  if (sizes.size() <= dim || sizes[dim] != 3) return argument_error("cross requires size 3 along dim");
  return tensor_result(promoted_type(call), std::move(sizes));
}
Replacement cross(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_cross(call));
  const Dims& sizes = types[0].tensor.sizes;
  TRY(std::size_t dim, cross_dim(call, call.tensor("self").sizes));
  auto axis = static_cast<std::int64_t>(dim);
  auto order = [&](std::int64_t start) {
    return b.call("aten.remainder.Scalar", {b.call("aten.arange.start_step", {start, start + 3}), 3});
  };
  Value *next = order(1), *last = order(2);
  auto moved = [&](std::string_view name, Value* index) {
    Value* x = b.own(call.value(name));
    if (x->tensor().sizes != sizes) x = b.call("aten.expand.default", {x, sizes});
    return b.call("aten.index_select.default", {x, axis, index});
  };
  Value* plus = b.call("aten.mul.Tensor", {moved("self", next), moved("other", last)});
  Value* minus = b.call("aten.mul.Tensor", {moved("self", last), moved("other", next)});
  return one(b.call("aten.sub.Tensor", {plus, minus}));
}

constexpr OpRules promoting(InferFunction infer, DecomposeFunction decompose) {
  return {.promotes = "self other", .infer = infer, .decompose = decompose};
}

}  // namespace

std::span<const OpLine> product_ops() {
  static constexpr OpLine lines[] = {
      {"aten.addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
       in_autocast(AutocastLower, composite(infer_addbmm, addbmm, InPlaceVariant))},
      {"aten.addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
       composite(infer_addmv, addmv, InPlaceVariant)},
      {"aten.addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)",
       {.flags = InPlaceVariant, .promotes = "self vec1 vec2", .infer = infer_addr, .decompose = addr}},
      {"aten.inner(Tensor self, Tensor other)", in_autocast(AutocastLower, composite(infer_inner, inner))},
      {"aten.tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)",
       in_autocast(AutocastLower, composite(infer_tensordot, tensordot))},
      {"aten.linalg_vecdot(Tensor x, Tensor y, *, int dim=-1)",
       in_autocast(AutocastLower, {.promotes = "x y", .infer = infer_vecdot, .decompose = vecdot})},
      {"aten.kron(Tensor self, Tensor other)", promoting(infer_kron, kron)},
      {"aten.cross(Tensor self, Tensor other, int? dim=None)", promoting(infer_cross, cross)},
      {"aten.linalg_cross(Tensor self, Tensor other, *, int dim=-1)", promoting(infer_cross, cross)},
  };
  return lines;
}

}  // namespace depute::internal
