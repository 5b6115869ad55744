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

// Rows of a table whose bytes hold `per_byte` values each.
template <int per_byte>
Types infer_rows(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() != 2) return argument_error("a table that is not of rank 2");
  Dims sizes = call.tensor("indices").sizes;
  sizes.push_back(weight.sizes[1] * per_byte);
  const bool is_told = call.def().arg_index(Symbol("dtype")) >= 0 && !call["dtype"].is_none();
  return tensor_result(is_told ? call["dtype"].as_scalar_type() : call.tensor("weight_scales").dtype,
                       std::move(sizes));
}
template <int per_byte>
constexpr OpRules looking_up(const char* out) {
  return accepting(per_byte == 1 ? "indices i64" : "indices i64 i32", kernel(out, infer_rows<per_byte>));
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
       looking_up<1>("quantized_decomposed::embedding_byte.out")},
      {"quantized_decomposed.embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None) -> Tensor",
       looking_up<1>("quantized_decomposed::embedding_byte.dtype_out")},
      {"quantized_decomposed.embedding_4bit.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
       looking_up<2>("quantized_decomposed::embedding_4bit.out")},
      {"quantized_decomposed.embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None) -> Tensor",
       looking_up<2>("quantized_decomposed::embedding_4bit.dtype_out")},
      {"quantized_decomposed.embedding_2bit.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
       looking_up<4>("quantized_decomposed::embedding_2bit.out")},
      {"quantized_decomposed.embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None) -> Tensor",
       looking_up<4>("quantized_decomposed::embedding_2bit.dtype_out")},
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
