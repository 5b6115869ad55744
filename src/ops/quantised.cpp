// Quantisation as PT2E writes it: integers with a scale and a zero point, per tensor or per channel.
#include "ops/op_table.h"

namespace depute::internal {
namespace {

Types infer_quantised(const OpCall& call) {
  return tensor_result(call["dtype"].as_scalar_type(), call.tensor("input").sizes);
}

Types infer_dequantised(const OpCall& call) {
  const Argument& dtype = call["out_dtype"];
  return tensor_result(dtype.is_none() ? ScalarType::F32 : dtype.as_scalar_type(),
                       call.tensor("input").sizes);
}

constexpr OpRules quantising(const char* out) {
  return {.flags = core | quantisation, .out = out, .infer = infer_quantised};
}
constexpr OpRules dequantising(const char* out) {
  return {.flags = core | quantisation, .out = out, .infer = infer_dequantised};
}

}  // namespace

std::span<const OpLine> quantised_ops() {
  static constexpr OpLine lines[] = {
      {"quantized_decomposed.quantize_per_tensor.default(Tensor input, float scale, int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype) -> Tensor",
       quantising("quantized_decomposed::quantize_per_tensor.out")},
      {"quantized_decomposed.quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
       "quant_min, int quant_max, ScalarType dtype) -> Tensor",
       quantising("quantized_decomposed::quantize_per_tensor.Tensor_out")},
      {"quantized_decomposed.dequantize_per_tensor.default(Tensor input, float scale, int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
       dequantising("quantized_decomposed::dequantize_per_tensor.out")},
      {"quantized_decomposed.dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
       "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
       dequantising("quantized_decomposed::dequantize_per_tensor.Tensor_out")},
      {"quantized_decomposed.quantize_per_channel.default(Tensor input, Tensor scales, Tensor zero_points, "
       "int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
       quantising("quantized_decomposed::quantize_per_channel.out")},
      {"quantized_decomposed.dequantize_per_channel.default(Tensor input, Tensor scales, Tensor? "
       "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
       "out_dtype=None) -> Tensor",
       dequantising("quantized_decomposed::dequantize_per_channel.out")},
      {"quantized_decomposed.choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, "
       "ScalarType dtype) -> (Tensor, Tensor)",
       opaque(core | quantisation, "quantized_decomposed::choose_qparams.Tensor_out")},
      {"quantized_decomposed.choose_qparams_per_token_asymmetric.default(Tensor input, ScalarType dtype) -> "
       "(Tensor, Tensor)",
       opaque(core | quantisation, "quantized_decomposed::choose_qparams_per_token_asymmetric.out")},
      {"quantized_decomposed.quantize_per_token.default(Tensor input, Tensor scales, Tensor zero_points, int "
       "quant_min, int quant_max, ScalarType dtype) -> Tensor",
       quantising("quantized_decomposed::quantize_per_token.out")},
      {"quantized_decomposed.dequantize_per_token.default(Tensor input, Tensor scales, Tensor zero_points, "
       "int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
       opaque(core | quantisation, "quantized_decomposed::dequantize_per_token.out")},
      {"quantized_decomposed.embedding_byte.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
       opaque(core, "quantized_decomposed::embedding_byte.out")},
      {"quantized_decomposed.embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None) -> Tensor",
       opaque(core, "quantized_decomposed::embedding_byte.dtype_out")},
      {"quantized_decomposed.embedding_4bit.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
       opaque(core, "quantized_decomposed::embedding_4bit.out")},
      {"quantized_decomposed.embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None) -> Tensor",
       opaque(core, "quantized_decomposed::embedding_4bit.dtype_out")},
      {"quantized_decomposed.embedding_2bit.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
       opaque(core, "quantized_decomposed::embedding_2bit.out")},
      {"quantized_decomposed.embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None) -> Tensor",
       opaque(core, "quantized_decomposed::embedding_2bit.dtype_out")},
      {"quantized_decomposed.mixed_linear.default(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, ScalarType? dtype=None) -> Tensor",
       opaque(core, "quantized_decomposed::mixed_linear.out")},
      {"quantized_decomposed.mixed_mm.default(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points) -> Tensor",
       opaque(core, "quantized_decomposed::mixed_mm.out")},
  };
  return lines;
}

}  // namespace depute::internal
