// Quantization ops of PT2E: integers with a scale and a zero point, per tensor or per channel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Status check_quanta(const OpCall& call) {
  const Argument &least = call["quant_min"], &most = call["quant_max"];
  if (!least.is_number() || !most.is_number() || least.as_double() <= most.as_double()) return {};
  return argument_error("'quant_min' above 'quant_max'");
}

Types infer_quantized(const OpCall& call) {
  TRY_STATUS(check_quanta(call));
  return tensor_result(call["dtype"].as_scalar_type(), call.tensor("input").sizes);
}

Types infer_dequantized(const OpCall& call) {
  TRY_STATUS(check_quanta(call));
  constexpr double most = 1 << 30;  // the kernel subtracts the zero point in 32 bits
  const Argument& zero_point = call[2];
  if (zero_point.is_number() && std::abs(zero_point.as_double()) > most)
    return argument_error("the zero point is beyond 2^30");
  const bool is_row = call.def().arg_index(Name("out_dtype")) < 0;
  const Argument& dtype = call[is_row ? "output_dtype" : "out_dtype"];
  return tensor_result(dtype.is_none() ? ScalarType::F32 : dtype.as_scalar_type(),
                       call.tensor("input").sizes);
}

// Infers one scale and zero point for the tensor, or for each row.
Types infer_choice(Dims sizes) {
  return std::vector<Type>{tensor_type(make_tensor(ScalarType::F64, sizes)),
                           tensor_type(make_tensor(ScalarType::I64, sizes))};
}
Types infer_choice_of_all(const OpCall& call) {
  TRY_STATUS(check_quanta(call));
  if (!(call.number("quant_max") - call.number("quant_min") <= std::numeric_limits<std::int32_t>::max()))
    return argument_error("the range from 'quant_min' to 'quant_max' exceeds 2^31 - 1");
  return infer_choice({1});
}
Types infer_choice_of_rows(const OpCall& call) {
  Dims sizes = call.tensor("input").sizes;
  if (sizes.empty()) return argument_error("expected a tensor of rank 1 or more");
  sizes.back() = 1;
  return infer_choice(std::move(sizes));
}

// The kernels end the process where a scale is NaN, and differ from torch where a zero point is a tie.
Value* not_above_zero(Builder& b, Value* x) {
  return b.call("aten.clamp.default", {x, Argument::none(), 0.0});
}
Value* not_below_zero(Builder& b, Value* x) {
  return b.call("aten.clamp.default", {x, 0.0});
}
struct Range {
  Value *low, *high, *scale;  // low <= 0 <= high
};
Range range_of(Builder& b, const OpCall& call, const std::vector<std::int64_t>& dims, double steps,
               double eps, ScalarType dtype) {
  Range range;
  range.low = not_above_zero(b, b.call("aten.amin.default", {call["input"], dims, true}));
  range.high = not_below_zero(b, b.call("aten.amax.default", {call["input"], dims, true}));
  Value* width = b.call("aten.sub.Tensor", {range.high, range.low});
  range.scale =
      b.call("aten.clamp.default", {to_dtype(b, b.call("aten.div.Scalar", {width, steps}), dtype), eps});
  return range;
}
Replacement choice(Builder& b, Value* scale, Value* zero_point) {
  return std::vector<Value*>{to_dtype(b, scale, ScalarType::F64), to_dtype(b, zero_point, ScalarType::I64)};
}
Replacement choose_for_all(Builder& b, const OpCall& call) {
  const double least = call.number("quant_min"), most = call.number("quant_max");
  std::vector<std::int64_t> dims(call.tensor("input").rank());
  std::iota(dims.begin(), dims.end(), 0);
  const Range range = range_of(b, call, dims, most - least, call.number("eps"), ScalarType::F32);
  Value* steps = b.call("aten.round.default", {b.call("aten.div.Tensor", {range.low, range.scale})});
  Value* point = b.call("aten.clamp.default", {b.call("aten.rsub.Scalar", {steps, least}), least, most});
  point = reshape(b, point, {1});
  return choice(b, reshape(b, range.scale, {1}), point);
}

// Derives the zero point of each row from the end of its range with the smaller rounding error, as torch does.
Replacement choose_for_rows(Builder& b, const OpCall& call) {
  constexpr double least = -128, most = 127, eps = std::numeric_limits<float>::epsilon();
  const ScalarType own = call.tensor("input").dtype;
  const Range range = range_of(b, call, {-1}, most - least, eps, is_floating(own) ? own : ScalarType::F32);
  Value* low = b.call("aten.div.Tensor", {range.low, range.scale});
  Value* high = b.call("aten.div.Tensor", {range.high, range.scale});
  Value* errors = b.call("aten.add.Tensor",
                         {b.call("aten.add.Scalar", {low, least}), b.call("aten.add.Scalar", {high, most})});
  Value* point = b.call("aten.where.self",
                        {b.call("aten.gt.Scalar", {errors, 0}), b.call("aten.rsub.Scalar", {low, least}),
                         b.call("aten.rsub.Scalar", {high, most})});
  point = b.call("aten.round.default", {b.call("aten.clamp.default", {point, least, most})});
  return choice(b, range.scale, point);
}

// Rows of a table whose bytes hold `per_byte` values each.
template <int per_byte>
Types infer_rows(const OpCall& call) {
  const TensorType& weight = call.tensor("weight");
  if (weight.rank() != 2) return argument_error("the weight must have rank 2");
  Dims sizes = call.tensor("indices").sizes;
  sizes.push_back(weight.sizes[1] * per_byte);
  const bool has_dtype = call.def().arg_index(Name("dtype")) >= 0 && !call["dtype"].is_none();
  return tensor_result(has_dtype ? call["dtype"].as_scalar_type() : call.tensor("weight_scales").dtype,
                       std::move(sizes));
}
template <int per_byte>
constexpr OpRules looking_up(const char* out) {
  return accepting(per_byte == 1 ? "indices i64" : "indices i64 i32", kernel(out, infer_rows<per_byte>));
}

// The kernels do not support bf16 results: they abort the process.
Replacement without_bf16(Builder& b, const OpCall& call) {
  if (call.node() == nullptr || call.node()->result()->tensor().dtype != ScalarType::BF16)
    return std::vector<Value*>{};
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  int place = call.def().arg_index(Name("out_dtype"));
  if (place < 0) place = call.def().arg_index(Name("output_dtype"));
  args[static_cast<std::size_t>(place)] = ScalarType::F32;
  return one(to_dtype(b, b.call(call.def().name.str(), args), ScalarType::BF16));
}
constexpr double max_quanta = 0x1p62;
// True for ops that may return infinities (1 / 0), and for ops with a large number among their arguments (a
// pad).
bool may_be_far(const Node& producer, double scale) {
  if (producer.def() == nullptr) return false;
  return producer.def()->is(OpFlag::PromotesToFloat) ||
         std::ranges::any_of(producer.args(), [scale](const Argument& arg) {
           return arg.is_number() && !(std::abs(arg.as_double()) < max_quanta * scale);
         });
}

// The kernel converts infinities, and quotients beyond 64 bits, to the smallest integer. Values that may be
// so large are clamped first, to one step beyond the range.
Replacement within_reach(Builder& b, const OpCall& call) {
  const Node* producer = call.value("input")->producer();
  const bool is_known = call["scale"].is_number() && call["zero_point"].is_number();
  if (producer == nullptr || !is_known || !may_be_far(*producer, call.number("scale")))
    return std::vector<Value*>{};
  const double scale = call.number("scale"), zero_point = call.number("zero_point");
  const double low = (call.number("quant_min") - zero_point - 1) * scale;
  const double high = (call.number("quant_max") - zero_point + 1) * scale;
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  args[0] = b.call("aten.clamp.default", {call["input"], low, high});
  return one(b.call(call.def().name.str(), args));
}
constexpr OpRules quantizing(const char* out, const char* accepts = "input f32 f16 f64") {
  return accepting(accepts, {.flags = Core | Quantization, .out = out, .infer = infer_quantized});
}
constexpr OpRules choosing(const char* out, InferFunction infer, DecomposeFunction fit) {
  return accepting("input f32 f16 bf16",
                   {.flags = Core | Quantization, .out = out, .infer = infer, .fit = fit});
}
constexpr OpRules dequantizing(const char* out, const char* accepts = nullptr) {
  return {.flags = Core | Quantization,
          .out = out,
          .infer = infer_dequantized,
          .accepts = accepts,
          .fit = without_bf16};
}

}  // namespace

std::span<const OpLine> quantized_ops() {
  static constexpr OpLine lines[] = {
      {"quantized_decomposed.quantize_per_tensor.default(Tensor input, float scale, int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype)",
       fitted(within_reach, quantizing("quantized_decomposed::quantize_per_tensor.out"))},
      {"quantized_decomposed.quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
       "quant_min, int quant_max, ScalarType dtype)",
       quantizing("quantized_decomposed::quantize_per_tensor.Tensor_out",
                  "input f32 f16 f64; scale f64; zero_point i64")},
      {"quantized_decomposed.dequantize_per_tensor.default(Tensor input, float scale, int zero_point, int "
       "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
       dequantizing("quantized_decomposed::dequantize_per_tensor.out")},
      {"quantized_decomposed.dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
       "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
       dequantizing("quantized_decomposed::dequantize_per_tensor.Tensor_out", "scale f64; zero_point i64")},
      {"quantized_decomposed.quantize_per_channel.default(Tensor input, Tensor scales, Tensor zero_points, "
       "int axis, int quant_min, int quant_max, ScalarType dtype)",
       quantizing("quantized_decomposed::quantize_per_channel.out",
                  "input f32 f16 f64; scales f64; zero_points i64")},
      {"quantized_decomposed.dequantize_per_channel.default(Tensor input, Tensor scales, Tensor? "
       "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
       "out_dtype=None)",
       dequantizing("quantized_decomposed::dequantize_per_channel.out", "scales f32 f64; zero_points i64")},
      {"quantized_decomposed.choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, "
       "ScalarType dtype) -> (Tensor, Tensor)",
       choosing("quantized_decomposed::choose_qparams.Tensor_out", infer_choice_of_all, choose_for_all)},
      {"quantized_decomposed.choose_qparams_per_token_asymmetric.default(Tensor input, ScalarType dtype) -> "
       "(Tensor, Tensor)",
       choosing("quantized_decomposed::choose_qparams_per_token_asymmetric.out", infer_choice_of_rows,
                choose_for_rows)},
      {"quantized_decomposed.quantize_per_token.default(Tensor input, Tensor scales, Tensor zero_points, int "
       "quant_min, int quant_max, ScalarType dtype)",
       quantizing("quantized_decomposed::quantize_per_token.out",
                  "input f32 f16 f64; scales f64; zero_points i64")},
      {"quantized_decomposed.dequantize_per_token.default(Tensor input, Tensor scales, Tensor zero_points, "
       "int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype)",
       dequantizing("quantized_decomposed::dequantize_per_token.out", "scales f32 f64; zero_points i64")},
      {"quantized_decomposed.embedding_byte.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices)",
       looking_up<1>("quantized_decomposed::embedding_byte.out")},
      {"quantized_decomposed.embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None)",
       looking_up<1>("quantized_decomposed::embedding_byte.dtype_out")},
      {"quantized_decomposed.embedding_4bit.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices)",
       looking_up<2>("quantized_decomposed::embedding_4bit.out")},
      {"quantized_decomposed.embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None)",
       looking_up<2>("quantized_decomposed::embedding_4bit.dtype_out")},
      {"quantized_decomposed.embedding_2bit.default(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices)",
       looking_up<4>("quantized_decomposed::embedding_2bit.out")},
      {"quantized_decomposed.embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
       "dtype=None)",
       looking_up<4>("quantized_decomposed::embedding_2bit.dtype_out")},
      {"quantized_decomposed.mixed_linear.default(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points, ScalarType? dtype=None)",
       opaque(Core, "quantized_decomposed::mixed_linear.out")},
      {"quantized_decomposed.mixed_mm.default(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
       "weight_zero_points)",
       opaque(Core, "quantized_decomposed::mixed_mm.out")},
  };
  return lines;
}

}  // namespace depute::internal
