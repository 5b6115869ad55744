// Matrix products. aten.linear stays whole; matmul and its variants become mm and bmm on views.
//
//   aten.matmul.default(f32[2, 5, 3], f32[3, 4])  ->  view [10, 3], mm, view [2, 5, 4]
#include <fmt/format.h>

#include <limits>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/kernel_forms.h"
#include "ops/macs.h"
#include "ops/math/complex_forms.h"
#include "ops/op_table.h"
#include "ops/rule_text.h"
#include "ops/shared_rules.h"
#include "ops/tensors/view_rules.h"
#include "support/try.h"

namespace depute::internal {
namespace {

SymInt product_of(const Dims& sizes) {
  return product({sizes.data(), sizes.size()});
}

Status expect_equal(const SymInt& a, const SymInt& b) {
  if (a == b || !a.is_constant() || !b.is_constant()) return {};
  return argument_error(fmt::format("the inner sizes {} and {} differ", a.str(), b.str()));
}

Status expect_rank(const TensorType& type, std::size_t rank) {
  if (type.rank() == rank) return {};
  return argument_error(fmt::format("got a tensor of rank {}; expected rank {}", type.rank(), rank));
}

Types infer_linear(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() != 2 || input.rank() == 0) return argument_error("linear requires a weight of rank 2");
  TRY_STATUS(expect_equal(input.sizes.back(), weight.sizes[1]));
  Dims sizes = input.sizes;
  sizes.back() = weight.sizes[0];
  return tensor_result(input.dtype, std::move(sizes));
}

// Views a vector as a row, which the kernel requires, and adds a bias that is no vector after the product.
Replacement linear(Builder& b, const OpCall& call) {
  Value* x = b.own(call.value("input"));
  if (!call["bias"].is_none() && call.tensor("bias").rank() != 1) {
    Value* product = b.call("aten.linear.default", {x, call["weight"]});
    return one(b.call("aten.add.Tensor", {product, call["bias"]}));
  }
  if (x->tensor().rank() != 1) return std::vector<Value*>{};
  Value* row = b.view(x, {1, x->tensor().sizes[0]});
  Value* result = b.call("aten.linear.default", {row, call["weight"], call["bias"]});
  return one(b.call("aten.squeeze.dims", {result, std::vector<std::int64_t>{0}}));
}

Types infer_mm(const OpCall& call) {
  const TensorType& a = call.tensor("self");
  const TensorType& b = call.tensor("mat2");
  TRY_STATUS(expect_rank(a, 2));
  TRY_STATUS(expect_rank(b, 2));
  TRY_STATUS(expect_equal(a.sizes[1], b.sizes[0]));
  return tensor_result(a.dtype, {a.sizes[0], b.sizes[1]});
}

// Returns the weight whose transpose is `matrix`, if a linear should read it directly. That is the case if
// another node reads it as well (an embedding tied to the output layer): folding the transpose would store it
// twice. It is also the case for quantized weights, which backends match in linears.
Value* linear_weight(Builder& b, const Value* matrix) {
  const Node* transpose = matrix->producer();
  if (transpose == nullptr || transpose->op() != "aten.permute.default") return nullptr;
  const Value* weight = transpose->operand(0);
  if (weight->tensor().dtype != ScalarType::F32) return nullptr;
  const Node* made_by = weight->producer();
  const bool is_quantized =
      made_by != nullptr && made_by->def() != nullptr && made_by->def()->is(OpFlag::Quantization);
  if (!is_quantized && (made_by != nullptr || weight->has_one_use())) return nullptr;
  auto order = permutation(OpCall(*transpose));
  return order && order->front() == 1 ? b.own(weight) : nullptr;
}

// Returns the tensor whose leading dimensions a view has flattened to `rows`.
Value* unflattened(Builder& b, const Value* rows) {
  const Node* view = rows->producer();
  if (view == nullptr || view->op() != "aten.view.default") return b.own(rows);
  const Value* x = view->operand(0);
  const Dims& sizes = x->tensor().sizes;
  return sizes.size() > 2 && sizes.back() == rows->tensor().sizes.back() ? b.own(x) : b.own(rows);
}

// Returns the transpose of a constant matrix by which rows of several open sizes are multiplied: a linear needs no
// view of them as one size, which backends cannot express.
Value* weight_of_open_rows(Builder& b, const Value* rows, const Value* matrix) {
  const Value* x = unflattened(b, rows);
  if (x == rows || matrix->producer() != nullptr || !matrix->has_one_use()) return nullptr;
  const Dims& sizes = x->tensor().sizes;
  const auto is_open = [](const SymInt& size) { return !size.is_constant(); };
  if (matrix->tensor().dtype != ScalarType::F32 || std::ranges::count_if(sizes, is_open) < 2) return nullptr;
  return b.call("aten.permute.default", {matrix, std::vector<std::int64_t>{1, 0}});
}

// Multiplies [m, k] with a weight [n, k].
Replacement linear_of_rows(Builder& b, const Value* rows, Value* weight, const Argument& bias) {
  Value* result = b.call("aten.linear.default", {unflattened(b, rows), weight, bias});
  return one(b.view(result, {rows->tensor().sizes[0], weight->tensor().sizes[0]}));
}

// Rewrites mm(x, permute(w, [1, 0])) as linear(x, w).
Replacement mm(Builder& b, const OpCall& call) {
  Value* weight = linear_weight(b, call.value("mat2"));
  if (weight == nullptr) weight = weight_of_open_rows(b, call.value("self"), call.value("mat2"));
  if (weight == nullptr) return std::vector<Value*>{};
  return linear_of_rows(b, call.value("self"), weight, Argument::none());
}

// Rewrites addmm(bias, x, permute(w, [1, 0])) as linear(x, w, bias).
Replacement addmm(Builder& b, const OpCall& call) {
  auto is_one = [&](std::string_view name) { return call[name].is_number() && call.number(name) == 1; };
  const bool is_plain = is_one("beta") && is_one("alpha");
  if (!is_plain || call.tensor("self").rank() != 1) return std::vector<Value*>{};
  if (call.tensor("self").sizes[0] != call.tensor("mat2").sizes[1]) return std::vector<Value*>{};
  Value* weight = linear_weight(b, call.value("mat2"));
  if (weight == nullptr) weight = weight_of_open_rows(b, call.value("mat1"), call.value("mat2"));
  if (weight == nullptr) return std::vector<Value*>{};
  return linear_of_rows(b, call.value("mat1"), weight, call["self"]);
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
  if (a.rank() == 0 || b.rank() == 0) return argument_error("matmul requires tensors of rank 1 or more");
  bool is_row = a.rank() == 1, is_column = b.rank() == 1;
  if (is_row) a.sizes.insert(a.sizes.begin(), SymInt(1));
  if (is_column) b.sizes.push_back(1);
  TRY_STATUS(expect_equal(a.sizes.back(), b.sizes[b.rank() - 2]));
  TRY(Dims sizes, broadcast(batch_sizes(a), batch_sizes(b)));
  if (!is_row) sizes.push_back(a.sizes[a.rank() - 2]);
  if (!is_column) sizes.push_back(b.sizes.back());
  return tensor_result(a.dtype, std::move(sizes));
}

// Returns `x` with its batch dimensions broadcast to `batch`, flattened to one.
Value* flat_batch(Builder& b, Value* x, const Dims& batch) {
  Dims sizes = batch;
  const Dims& own = x->tensor().sizes;
  sizes.insert(sizes.end(), own.end() - 2, own.end());
  if (sizes != own) x = b.call("aten.expand.default", {x, sizes});
  return b.view(x, {product_of(batch), sizes[sizes.size() - 2], sizes.back()});
}

// Returns the product of two tensors of rank 2 or more, by one mm or bmm.
Value* batched_product(Builder& b, Value* left, Value* right) {
  const TensorType& a = left->tensor();
  const TensorType& c = right->tensor();
  if (a.rank() == 2 && c.rank() == 2) return b.call("aten.mm.default", {left, right});
  if (c.rank() == 2) {  // the batch becomes rows
    Dims rows(a.sizes.begin(), a.sizes.end() - 1);
    Dims sizes = rows;
    sizes.push_back(c.sizes[1]);
    Value* flat = b.view(left, {product_of(rows), a.sizes.back()});
    Value* product = b.call("aten.mm.default", {flat, right});
    return b.view(product, sizes);
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
  return b.view(product, sizes);
}

Replacement matmul(Builder& b, const OpCall& call) {
  Value* left = b.own(call.value("self"));
  Value* right = b.own(call.value("other"));
  TRY(std::vector<Type> types, infer_matmul(call));
  if (left->tensor().rank() == 1) left = b.view(left, {1, left->tensor().sizes[0]});
  if (right->tensor().rank() == 1) right = b.view(right, {right->tensor().sizes[0], 1});
  Value* result = batched_product(b, left, right);
  return one(b.view(result, types[0].tensor.sizes));
}

// beta * self + alpha * (batch1 @ batch2)
Replacement baddbmm(Builder& b, const OpCall& call) {
  auto scaled = [&](Value* value, std::string_view factor) {
    Argument number = call[factor];
    // For integers torch truncates the factor.
    if (number.is_number() && is_integral(call.tensor("self").dtype))
      number = Argument::of(static_cast<std::int64_t>(number.as_double()));
    if (number.is_number() && number.as_double() == 1) return value;
    return b.call("aten.mul.Tensor", {value, number});
  };
  Value* product = scaled(b.call("aten.bmm.default", {call["batch1"], call["batch2"]}), "alpha");
  const Argument& beta = call["beta"];
  if (beta.is_number() && beta.as_double() == 0) return one(product);  // self is ignored, even NaN
  return one(b.call("aten.add.Tensor", {scaled(b.own(call.value("self")), "beta"), product}));
}

// --- products of several matrices

// Matrix i has sizes[i] rows and sizes[i + 1] columns.
Result<Dims> chain_sizes(const std::vector<const Value*>& factors) {
  if (factors.empty()) return argument_error("a matrix product requires at least one matrix");
  Dims sizes;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const TensorType& type = factors[i]->tensor();
    bool is_end = i == 0 || i + 1 == factors.size();
    if (type.rank() != 2 && !(type.rank() == 1 && is_end))
      return argument_error("a matrix product requires operands of rank 2");
    if (i == 0) sizes.push_back(type.rank() == 1 ? SymInt(1) : type.sizes[0]);
    bool is_column = type.rank() == 1 && i > 0;
    sizes.push_back(is_column ? SymInt(1) : type.sizes.back());
  }
  return sizes;
}
Types infer_chain(const OpCall& call) {
  std::vector<const Value*> factors = call.values(call.def().args[0].name.str());
  TRY(Dims chain, chain_sizes(factors));
  if (factors.size() == 1) return tensor_result(factors[0]->tensor().dtype, factors[0]->tensor().sizes);
  Dims sizes;
  if (factors.front()->tensor().rank() == 2) sizes.push_back(chain.front());
  if (factors.back()->tensor().rank() == 2) sizes.push_back(chain.back());
  return tensor_result(factors[0]->tensor().dtype, std::move(sizes));
}

// Finds the order of products of matrices i to j with the fewest multiplications.
class ChainOrder {
 public:
  explicit ChainOrder(const Dims& sizes) : count_(sizes.size() - 1), cuts_(count_ * count_, 0) {
    std::vector<double> costs(count_ * count_, 0);
    for (std::size_t length = 1; length < count_; ++length) {
      for (std::size_t i = 0; i + length < count_; ++i) {
        std::size_t j = i + length;
        costs[i * count_ + j] = std::numeric_limits<double>::infinity();
        for (std::size_t k = i; k < j; ++k) {
          double cost = costs[i * count_ + k] + costs[(k + 1) * count_ + j] +
                        number(sizes[i]) * number(sizes[k + 1]) * number(sizes[j + 1]);
          if (cost >= costs[i * count_ + j]) continue;
          costs[i * count_ + j] = cost;
          cuts_[i * count_ + j] = k;
        }
      }
    }
  }
  std::size_t cut(std::size_t i, std::size_t j) const { return cuts_[i * count_ + j]; }

 private:
  static double number(const SymInt& size) {  // a dynamic size is assumed to be large
    return size.is_constant() ? static_cast<double>(size.value()) : 1024;
  }
  std::size_t count_;
  std::vector<std::size_t> cuts_;
};

Value* chain(Builder& b, const std::vector<Value*>& factors, const ChainOrder& order, std::size_t i,
             std::size_t j) {
  if (i == j) return factors[i];
  std::size_t k = order.cut(i, j);
  Value* left = chain(b, factors, order, i, k);
  return b.call("aten.mm.default", {left, chain(b, factors, order, k + 1, j)});
}
Replacement chain_product(Builder& b, const OpCall& call) {
  std::string_view name = call.def().args[0].name.str();
  std::vector<Value*> factors = b.own(call.values(name));
  TRY(Dims sizes, chain_sizes(call.values(name)));
  TRY(std::vector<Type> types, infer_chain(call));
  if (factors.size() == 1) return one(b.call("aten.alias.default", {factors[0]}));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = b.view(factors[i], {sizes[i], sizes[i + 1]});
  Value* product = chain(b, factors, ChainOrder(sizes), 0, factors.size() - 1);
  return one(reshape(b, product, types[0].tensor.sizes));
}

// Computes powers by squaring: x^5 = (x^2)^2 x
Replacement matrix_power(Builder& b, const OpCall& call) {
  const TensorType& self = call.tensor("self");
  std::int64_t power = call.integer("n");
  if (self.rank() < 2) return argument_error("matrix_power requires a tensor of rank 2 or more");
  if (power == 0) {
    Value* unit = b.call("aten.eye.default", {b.size(self.sizes.back()), self.dtype});
    return one(b.call("aten.expand.default", {unit, self.sizes}));
  }
  Value *square = b.own(call.value("self")), *result = nullptr;
  if (power < 0) square = b.call("aten.linalg_inv.default", {square});
  for (power = std::abs(power);; power /= 2) {
    if (power % 2 == 1) result = result == nullptr ? square : b.call("aten.matmul.default", {square, result});
    if (power <= 1) break;
    square = b.call("aten.matmul.default", {square, square});
  }
  return one(result == call.value("self") ? b.call("aten.alias.default", {result}) : result);
}

// --- vectors

Types infer_outer(const OpCall& call) {
  TRY_STATUS(expect_rank(call.tensor("self"), 1));
  TRY_STATUS(expect_rank(call.tensor("vec2"), 1));
  ScalarType dtype = promote(call.tensor("self").dtype, call.tensor("vec2").dtype);
  return tensor_result(dtype, {call.tensor("self").sizes[0], call.tensor("vec2").sizes[0]});
}

Types infer_dot(const OpCall& call) {
  TRY_STATUS(expect_rank(call.tensor("self"), 1));
  return tensor_result(call.tensor("self").dtype, {});
}
Types infer_mv(const OpCall& call) {
  TRY_STATUS(expect_rank(call.tensor("self"), 2));
  return tensor_result(call.tensor("self").dtype, {call.tensor("self").sizes[0]});
}
// Conjugates the first of two complex vectors.
Replacement vdot(Builder& b, const OpCall& call) {
  Value* self = b.own(call.value("self"));
  if (is_complex(self->tensor().dtype)) self = b.call("aten._conj.default", {self});
  return one(b.call("aten.matmul.default", {self, call["other"]}));
}
Replacement by_matmul(Builder& b, const OpCall& call) {
  return one(b.call("aten.matmul.default", call.args()));
}

// x1 [b, i], x2 [b, j], weight [o, i, j]: x1 @ weight is [b, o, j], whose rows are multiplied with x2
Types infer_bilinear(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  const TensorType& input = call.tensor("input1");
  TRY_STATUS(expect_rank(weight, 3));
  if (input.rank() == 0) return argument_error("bilinear requires tensors of rank 1 or more");
  Dims sizes = input.sizes;
  sizes.back() = weight.sizes[0];
  return tensor_result(input.dtype, std::move(sizes));
}
Replacement bilinear(Builder& b, const OpCall& call) {
  TRY(std::vector<Type> types, infer_bilinear(call));
  const Dims w = call.tensor("weight").sizes;
  const Dims& sizes = types[0].tensor.sizes;
  SymInt rows = product({sizes.data(), sizes.size() - 1});
  Value* x1 = b.view(b.own(call.value("input1")), {rows, w[1]});
  Value* x2 = b.view(b.own(call.value("input2")), {rows, w[2], 1});
  Value* weight = b.call("aten.permute.default", {call["weight"], std::vector<std::int64_t>{1, 0, 2}});
  Value* half = b.call("aten.mm.default", {x1, b.view(weight, {w[1], w[0] * w[2]})});
  Value* whole = b.call("aten.bmm.default", {b.view(half, {rows, w[0], w[2]}), x2});
  Value* result = b.view(whole, sizes);
  if (!call["bias"].is_none()) result = b.call("aten.add.Tensor", {result, call["bias"]});
  return one(result);
}

// Tells for each of `rank` dimensions whether the list names it.
Result<std::vector<bool>> named_dims(const OpCall& call, std::string_view list, std::size_t rank) {
  std::vector<bool> named(rank);
  for (std::int64_t dim : call.ints(list)) {
    TRY(std::size_t wrapped, wrap_dim(dim, rank));
    if (named[wrapped]) return argument_error(fmt::format("'{}' names dimension {} twice", list, wrapped));
    named[wrapped] = true;
  }
  return named;
}
// Builds an einsum with a letter for each dimension: expand1=[1, 3], expand2=[0], expand3=[1, 2] and
// sumdim=[2, 3] are "ac,bcd,ad->ab". Along `unroll_dim` torch takes slices, so a size of 1 does not broadcast
// there.
Replacement trilinear(Builder& b, const OpCall& call) {
  constexpr std::string_view inputs[][2] = {{"i1", "expand1"}, {"i2", "expand2"}, {"i3", "expand3"}};
  const std::size_t rank = call.tensor("i1").rank() + call.ints("expand1").size();
  const ScalarType dtype = call.tensor("i1").dtype;
  if (!is_floating(dtype) && !is_complex(dtype))
    return type_error(fmt::format("_trilinear of {} is not supported", name(dtype)));
  const std::int64_t unroll_dim = call.integer("unroll_dim");
  if (unroll_dim < 0 || unroll_dim >= static_cast<std::int64_t>(rank))
    return argument_error(fmt::format("unroll_dim {} is out of range for rank {}", unroll_dim, rank));
  if (rank > max_rank) return type_error(fmt::format("_trilinear of rank {} is not supported", rank));
  const auto unrolled = static_cast<std::size_t>(unroll_dim);

  std::string equation;
  std::vector<bool> is_known(rank);
  const SymInt* slices = nullptr;
  for (const auto& [tensor, list] : inputs) {
    const TensorType& type = call.tensor(tensor);
    if (type.dtype != dtype)
      return type_error(
          fmt::format("_trilinear of {} and {} is not supported", name(dtype), name(type.dtype)));
    if (type.rank() + call.ints(list).size() != rank)
      return argument_error(
          fmt::format("'{}' and '{}' must have {} dimensions together", tensor, list, rank));
    TRY(std::vector<bool> expanded, named_dims(call, list, rank));
    for (std::size_t dim = 0, own = 0; dim < rank; ++dim) {
      if (expanded[dim]) continue;
      const SymInt& size = type.sizes[own++];
      if (dim == unrolled) {
        if (slices != nullptr && !expect_equal(*slices, size))
          return argument_error(
              fmt::format("the sizes {} and {} along unroll_dim differ", slices->str(), size.str()));
        slices = &size;
      }
      is_known[dim] = true;
      equation += static_cast<char>('a' + dim);
    }
    equation += ',';
  }
  TRY(std::vector<bool> summed, named_dims(call, "sumdim", rank));
  equation.replace(equation.size() - 1, 1, "->");
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (!is_known[dim]) return argument_error(fmt::format("no input of _trilinear has dimension {}", dim));
    if (!summed[dim]) equation += static_cast<char>('a' + dim);
  }
  std::vector<Value*> tensors;
  for (const auto& [tensor, list] : inputs) tensors.push_back(b.own(call.value(tensor)));
  return one(b.call("aten.einsum.default", {equation.c_str(), tensors}));
}

}  // namespace

std::span<const OpLine> linear_algebra_ops() {
  static constexpr OpLine lines[] = {
      {"aten.linear(Tensor input, Tensor weight, Tensor? bias=None)",
       in_autocast(AutocastLower,
                   counting(macs_of_product<0>, on_complex(complex_linear, {.flags = Core,
                                                                            .out = "linear.out",
                                                                            .infer = infer_linear,
                                                                            .decompose = linear,
                                                                            .fit = linear_of_nothing})))},
      {"aten.bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)",
       composite(infer_bilinear, bilinear)},
      {"aten._trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, "
       "int[] sumdim, int unroll_dim=1)",
       derived(trilinear)},
      {"aten.mm(Tensor self, Tensor mat2)",
       in_autocast(AutocastLower, counting(macs_of_product<0>,
                                           on_complex(complex_matrix_product, {.flags = Core,
                                                                               .out = "mm.out",
                                                                               .infer = infer_mm,
                                                                               .decompose = mm,
                                                                               .fit = product_of_numbers})))},
      {"aten.bmm(Tensor self, Tensor mat2)",
       in_autocast(AutocastLower,
                   counting(macs_of_product<0>,
                            on_complex(complex_matrix_product,
                                       fitted(product_of_numbers, kernel("bmm.out", infer_bmm)))))},
      {"aten.addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
       in_autocast(AutocastLower,
                   counting(macs_of_product<1>, on_complex(complex_addmm, {.flags = Core | InPlaceVariant,
                                                                           .out = "addmm.out",
                                                                           .infer = infer_addmm,
                                                                           .decompose = addmm,
                                                                           .fit = sum_of_product})))},
      {"aten.matmul(Tensor self, Tensor other)",
       in_autocast(AutocastLower, counting(macs_of_product<0>, composite(infer_matmul, matmul)))},
      {"aten.baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)",
       in_autocast(AutocastLower, composite(infer_baddbmm, baddbmm, InPlaceVariant))},
      {"aten.linalg_matmul(Tensor self, Tensor other)",
       in_autocast(AutocastLower, composite(infer_matmul, by_matmul))},
      {"aten.linalg_multi_dot(Tensor[] tensors)",
       in_autocast(AutocastLower, composite(infer_chain, chain_product))},
      {"aten.chain_matmul(Tensor[] matrices)",
       in_autocast(AutocastLower, composite(infer_chain, chain_product))},
      {"aten.linalg_matrix_power(Tensor self, int n)",
       in_autocast(AutocastLower, composite(infer_same_type, matrix_power))},
      {"aten.matrix_power(Tensor self, int n)",
       in_autocast(AutocastLower, composite(infer_same_type, matrix_power))},
      {"aten.ger(Tensor self, Tensor vec2)", composite(infer_outer, text<"unsqueeze(self, 1) * vec2">)},
      {"aten.vdot(Tensor self, Tensor other)", composite(infer_dot, vdot)},
      {"aten.outer(Tensor self, Tensor vec2)", composite(infer_outer, text<"unsqueeze(self, 1) * vec2">)},
      {"aten.dot(Tensor self, Tensor tensor)", composite(infer_dot, by_matmul)},
      {"aten.mv(Tensor self, Tensor vec)", composite(infer_mv, by_matmul)},
      {"aten.einsum(str equation, Tensor[] tensors, *, int[]? path=None)",
       in_autocast(AutocastLower, composite(infer_einsum, einsum))},
  };
  return lines;
}

}  // namespace depute::internal
