// Products of matrices. One with constant weights is a convolution of single pixels, which accelerators prefer, since
// TOSA's MATMUL has no bias.
#include "emitter.h"
#include "integer_product.h"
#include "lower/weights/order.h"
#include "windows.h"

namespace depute::tosa::ops {
namespace {

// TOSA computes products of i8 in i32, and of zero points.
Check check_floats(const Tensor& x) {
  if (!is_float(x.dtype)) return Refusal{"dtype", std::string(name(x.dtype)), "floats"};
  return {};
}

// Multiplies [B, M, K] by [B, K, N].
Tensor product(Emitter& emit, const Tensor& a, const Tensor& b, const ProductScales& scales = {}) {
  const Tensor operands[] = {emit.in_rows(a), emit.in_rows(b)};
  return emit.product(Op::MatMul, operands, scales, {a.shape[0], a.shape[1], b.shape[2]});
}

// Multiplies [M, K] by weights [N, K].
Tensor by_pixels(Emitter& emit, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const ProductScales& scales = {}) {
  const std::int64_t rows = x.shape[0];
  const std::int64_t in = x.shape[1];
  const std::int64_t out = weight.shape[0];
  const Tensor image = emit.reshape(emit.in_rows(x), {rows, 1, 1, in});
  const Tensor filter = emit.reshape(emit.in_rows(weight), {out, 1, 1, in});
  const Tensor operands[] = {image, filter, bias};
  return emit.reshape(
      emit.product(Op::Conv2d, operands, scales, {rows, 1, 1, out}, window_of({Slide{}, Slide{}})),
      {rows, out});
}

Tensor as_matrix(Emitter& emit, const Tensor& x) {
  const std::int64_t columns = x.shape.back();
  return emit.reshape(x, {element_count(x.shape) / columns, columns});
}

Tensor one_batch(Emitter& emit, const Tensor& x) {
  return emit.reshape(x, {1, x.shape[0], x.shape[1]});
}

// Multiplies [M, K] by [K, N].
Tensor product_of_matrices(Emitter& emit, const Tensor& a, const Tensor& b,
                           const ProductScales& scales = {}) {
  const Tensor factor = one_batch(emit, b);
  return product(emit, one_batch(emit, a), factor, scales);
}

Check linear(Emitter& emit, const OpCall& call) {
  const Tensor x = as_matrix(emit, emit.input(call, "input"));
  const Tensor weight = emit.input(call, "weight");
  DEPUTE_REFUSE_IF(check_floats(x));
  if (weight.rank() != 2) return Refusal{"rank", std::to_string(weight.rank()), "2"};
  const bool has_bias = !call["bias"].is_none();
  if (emit.is_constant(weight)) {
    const Tensor bias = has_bias ? emit.input(call, "bias") : emit.zero_point(x.dtype);
    return emit.result(emit.reshape(by_pixels(emit, x, weight, bias), emit.result_shape()));
  }
  Tensor made = product_of_matrices(emit, x, emit.permute(weight, {1, 0}));
  if (has_bias) made = emit.add(Op::Add, {made, emit.input(call, "bias")});
  return emit.result(emit.reshape(made, emit.result_shape()));
}

Check mm(Emitter& emit, const OpCall& call) {
  const Tensor a = emit.input(call, "self");
  const Tensor b = emit.input(call, "mat2");
  DEPUTE_REFUSE_IF(check_floats(a));
  if (emit.is_constant(b)) {
    const Tensor bias = emit.zero_point(a.dtype);
    return emit.result(by_pixels(emit, a, emit.permute(b, {1, 0}), bias));
  }
  return emit.result(emit.reshape(product_of_matrices(emit, a, b), emit.result_shape()));
}

Check bmm(Emitter& emit, const OpCall& call) {
  const Tensor a = emit.input(call, "self");
  DEPUTE_REFUSE_IF(check_floats(a));
  return emit.result(product(emit, a, emit.input(call, "mat2")));
}

// beta * self + alpha * mat1 @ mat2
Check addmm(Emitter& emit, const OpCall& call) {
  const Tensor a = emit.input(call, "mat1");
  const Tensor b = emit.input(call, "mat2");
  DEPUTE_REFUSE_IF(check_floats(a));
  Tensor made = emit.reshape(product_of_matrices(emit, a, b), emit.result_shape());
  if (call.number("alpha") != 1) made = emit.mul(made, call.number("alpha"));
  Tensor bias = emit.input(call, "self");
  if (call.number("beta") == 0) return emit.result(made);
  if (call.number("beta") != 1) bias = emit.mul(bias, call.number("beta"));
  return emit.result(emit.add(Op::Add, {made, bias}));
}

// --- integers

// The bias belongs to the sums, which MATMUL does not give: its operands must be without one.
Check linear_of_integers(Emitter& emit, const OpCall& call) {
  IntegerProduct product_of;
  const std::int64_t out = emit.result_shape().back();
  DEPUTE_REFUSE_IF(
      find_integer_product(emit, call, "input", "weight", "bias", {.dim = 0, .channels = out}, product_of));
  if (product_of.b.rank() != 2) return Refusal{"rank", std::to_string(product_of.b.rank()), "2"};
  const Tensor x = as_matrix(emit, product_of.a);
  if (!emit.is_constant(product_of.b)) {
    if (!call["bias"].is_none()) return refuse_integers("a bias beside a weight that is no constant");
    const Tensor made = product_of_matrices(emit, x, emit.permute(product_of.b, {1, 0}), product_of.scales);
    return emit.integer_result(emit.reshape(made, emit.result_shape()), product_of.result);
  }
  const Tensor made = by_pixels(emit, x, product_of.b, product_of.bias, product_of.scales);
  return emit.integer_result(emit.reshape(made, emit.result_shape()), product_of.result);
}

Check mm_of_integers(Emitter& emit, const OpCall& call) {
  IntegerProduct found;
  const std::int64_t out = emit.result_shape().back();
  DEPUTE_REFUSE_IF(find_integer_product(emit, call, "self", "mat2", "", {.dim = 1, .channels = out}, found));
  const Tensor made = emit.is_constant(found.b)
                          ? by_pixels(emit, found.a, emit.permute(found.b, {1, 0}), found.bias, found.scales)
                          : product_of_matrices(emit, found.a, found.b, found.scales);
  return emit.integer_result(emit.reshape(made, emit.result_shape()), found.result);
}

Check bmm_of_integers(Emitter& emit, const OpCall& call) {
  IntegerProduct found;
  DEPUTE_REFUSE_IF(find_integer_product(emit, call, "self", "mat2", "", {.dim = 2, .channels = 1}, found));
  return emit.integer_result(product(emit, found.a, found.b, found.scales), found.result);
}

Check addmm_of_integers(Emitter& emit, const OpCall& call) {
  if (call.number("alpha") != 1 || call.number("beta") != 1)
    return refuse_integers("factors of the operands");
  IntegerProduct found;
  const std::int64_t out = emit.result_shape().back();
  if (call.tensor("self").rank() != 1) return refuse_integers("a bias that is no row");
  DEPUTE_REFUSE_IF(
      find_integer_product(emit, call, "mat1", "mat2", "self", {.dim = 1, .channels = out}, found));
  if (!emit.is_constant(found.b)) return refuse_integers("a bias beside a weight that is no constant");
  const Tensor made = by_pixels(emit, found.a, emit.permute(found.b, {1, 0}), found.bias, found.scales);
  return emit.integer_result(made, found.result);
}

}  // namespace

std::span<const OpRule> linear() {
  static constexpr OpRule rules[] = {
      {.op = "aten.addmm.default",
       .translate = addmm,
       .integers = IntegerForm::Own,
       .translate_integers = addmm_of_integers},
      {.op = "aten.bmm.default",
       .translate = bmm,
       .integers = IntegerForm::Own,
       .translate_integers = bmm_of_integers},
      {.op = "aten.linear.default",
       .translate = linear,
       .integers = IntegerForm::Own,
       .translate_integers = linear_of_integers},
      {.op = "aten.mm.default",
       .translate = mm,
       .integers = IntegerForm::Own,
       .translate_integers = mm_of_integers},
  };
  return rules;
}

}  // namespace depute::tosa::ops
