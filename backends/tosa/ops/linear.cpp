// Products of matrices. One with constant weights is a convolution of single pixels, which accelerators prefer, since
// TOSA's MATMUL has no bias.
#include "emitter.h"
#include "lower/weights/order.h"
#include "windows.h"

namespace depute::tosa::ops {
namespace {

// TOSA computes products of i8 in i32, and of zero points.
Check check_floats(const Tensor& x) {
  if (!is_float(x.dtype)) return Refusal{"dtype", std::string(name(x.dtype)), "floats"};
  return {};
}

// Of [B, M, K] and [B, K, N].
Tensor product(Emitter& emit, const Tensor& a, const Tensor& b) {
  const Shape shape = {a.shape[0], a.shape[1], b.shape[2]};
  return emit.raw(Op::MatMul,
                  {emit.in_rows(a), emit.in_rows(b), emit.zero_point(a.dtype), emit.zero_point(b.dtype)},
                  a.dtype, shape);
}

// Of [M, K] and weights [N, K].
Tensor by_pixels(Emitter& emit, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::int64_t rows = x.shape[0];
  const std::int64_t in = x.shape[1];
  const std::int64_t out = weight.shape[0];
  const Tensor image = emit.reshape(emit.in_rows(x), {rows, 1, 1, in});
  const Tensor filter = emit.reshape(emit.in_rows(weight), {out, 1, 1, in});
  const Tensor made =
      emit.raw(Op::Conv2d, {image, filter, bias, emit.zero_point(x.dtype), emit.zero_point(weight.dtype)},
               x.dtype, {rows, 1, 1, out}, window_of({Slide{}, Slide{}}));
  return emit.reshape(made, {rows, out});
}

Tensor as_matrix(Emitter& emit, const Tensor& x) {
  const std::int64_t columns = x.shape.back();
  return emit.reshape(x, {element_count(x.shape) / columns, columns});
}

Tensor one_batch(Emitter& emit, const Tensor& x) {
  return emit.reshape(x, {1, x.shape[0], x.shape[1]});
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
  Tensor made = product(emit, one_batch(emit, x), one_batch(emit, emit.permute(weight, {1, 0})));
  if (has_bias) made = emit.add(Op::Add, {made, emit.input(call, "bias")});
  return emit.result(emit.reshape(made, emit.result_shape()));
}

Check mm(Emitter& emit, const OpCall& call) {
  const Tensor a = emit.input(call, "self");
  const Tensor b = emit.input(call, "mat2");
  DEPUTE_REFUSE_IF(check_floats(a));
  if (emit.is_constant(b))
    return emit.result(by_pixels(emit, a, emit.permute(b, {1, 0}), emit.zero_point(a.dtype)));
  return emit.result(
      emit.reshape(product(emit, one_batch(emit, a), one_batch(emit, b)), emit.result_shape()));
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
  Tensor made = emit.reshape(product(emit, one_batch(emit, a), one_batch(emit, b)), emit.result_shape());
  if (call.number("alpha") != 1) made = emit.mul(made, call.number("alpha"));
  Tensor bias = emit.input(call, "self");
  if (call.number("beta") == 0) return emit.result(made);
  if (call.number("beta") != 1) bias = emit.mul(bias, call.number("beta"));
  return emit.result(emit.add(Op::Add, {made, bias}));
}

}  // namespace

std::span<const OpRule> linear() {
  static constexpr OpRule rules[] = {
      {.op = "aten.addmm.default", .translate = addmm},
      {.op = "aten.bmm.default", .translate = bmm},
      {.op = "aten.linear.default", .translate = linear},
      {.op = "aten.mm.default", .translate = mm},
  };
  return rules;
}

}  // namespace depute::tosa::ops
