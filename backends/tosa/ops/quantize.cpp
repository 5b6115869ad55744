// Quantization: floats to integers and back. Where operators in between are computed with integers, neither is.
#include <cmath>
#include <limits>

#include "emitter.h"

namespace depute::tosa::ops {
namespace {

Check quantize_in_integers(Emitter& emit, const OpCall& call) {
  const auto x = emit.integers(*call.value("input"));
  const auto quantization = quantization_of(*call.node());
  if (!x || !quantization) return refuse_integers(no_integers);
  return emit.result(emit.reshape(emit.requantize(*x, *quantization), emit.result_shape()));
}

// A number of the call: of the argument itself or of a constant with one element.
std::optional<double> number_of(Emitter& emit, const OpCall& call, std::string_view name) {
  if (call[name].is_number()) return call.number(name);
  const TensorData* data = call.value(name) == nullptr ? nullptr : emit.constant_data_of(*call.value(name));
  const auto numbers = data == nullptr ? std::nullopt : numbers_of(*data);
  return numbers && numbers->size() == 1 ? std::optional((*numbers)[0]) : std::nullopt;
}

// clamp(round(x / scale) + zero_point), where the quotient is a product with the reciprocal, as in PyTorch.
Check quantize(Emitter& emit, const OpCall& call) {
  const auto scale = number_of(emit, call, "scale");
  const auto zero_point = number_of(emit, call, "zero_point");
  if (!scale) return refuse_argument(call, "scale", "a constant");
  if (!zero_point) return refuse_argument(call, "zero_point", "a constant");
  const Tensor x = emit.input(call, "input");
  if (x.dtype != DType::F32) return Refusal{"dtype", std::string(name(x.dtype)), "f32"};
  const double least = call.number("quant_min") - *zero_point;
  const double most = call.number("quant_max") - *zero_point;
  constexpr double limit = 1 << 24;  // integers up to which are exact in f32
  if (std::abs(least) > limit || std::abs(most) > limit)
    return refuse_argument(call, "quant_max", "ranges within 2^24");
  const double reciprocal = static_cast<float>(1 / *scale);
  const Tensor steps = emit.rounded(emit.clamp(emit.mul(x, reciprocal), least, most), DType::I32);
  const Tensor moved = *zero_point == 0 ? steps : emit.add(Op::Add, steps, *zero_point);
  return emit.result(emit.cast(moved, emit.result_dtype()));
}

// Computed where a float is asked for.
Check dequantize(Emitter& emit, const OpCall& call) {
  if (emit.profile() == Profile::Integers && !quantization_of(*call.node()) &&
      !emit.weight(*call.node()->result()) && !emit.constant_floats(*call.node()->result()))
    return refuse_integers("integers that are not i8");
  emit.defer_dequantize(*call.node());
  if (emit.scope() == Scope::Node && emit.profile() != Profile::Integers)
    (void)emit.input(*call.node()->result());
  return emit.refusal();
}

}  // namespace

std::span<const OpRule> quantize() {
  static constexpr OpRule rules[] = {
      {.op = dequantize_channels_op,
       .conditions = "constant scales",
       .op_class = OpClass::Move,
       .translate = dequantize},
      {.op = dequantize_op, .op_class = OpClass::Move, .translate = dequantize},
      {.op = "quantized_decomposed.dequantize_per_tensor.tensor",
       .conditions = "constant scales",
       .op_class = OpClass::Move,
       .translate = dequantize},
      {.op = quantize_op,
       .conditions = "f32",
       .op_class = OpClass::Move,
       .translate = quantize,
       .integers = IntegerForm::Own,
       .translate_integers = quantize_in_integers},
      {.op = "quantized_decomposed.quantize_per_tensor.tensor",
       .conditions = "f32; constant scales",
       .op_class = OpClass::Move,
       .translate = quantize},
  };
  return rules;
}

}  // namespace depute::tosa::ops
