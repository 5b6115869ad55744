// The part of the Emitter that computes with the integers of quantized programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "depute/program/data.h"
#include "emitter.h"
#include "integer_facts.h"
#include "rescale.h"

namespace depute::tosa {
namespace {

bool dequantizes(const Node& node) {
  return node.op() == dequantize_op || node.op() == dequantize_channels_op;
}

template <typename T>
TensorData list_of(ScalarType dtype, std::span<const T> numbers) {
  return make_data<T>(dtype, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

// Scales and zero points of constants, of which the slices along `axis` have one each.
struct Steps {
  std::vector<double> scales;
  std::vector<double> zero_points;
  std::size_t axis = 0;
  std::int64_t inner = 1;  // elements of a slice that lie together
};

std::vector<float> dequantized_numbers(std::span<const double> integers, const Steps& steps) {
  std::vector<float> numbers(integers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t slice = i / static_cast<std::size_t>(steps.inner) % steps.scales.size();
    numbers[i] = static_cast<float>((integers[i] - steps.zero_points[slice]) * steps.scales[slice]);
  }
  return numbers;
}

// TOSA's integers of 4 bits are from -7 to 7.
bool has_4bit_range(const OpCall& call) {
  constexpr double limit = 7;
  const auto is_within = [&](std::string_view name) {
    return call[name].is_number() && std::abs(call.number(name)) <= limit;
  };
  return is_within("quant_min") && is_within("quant_max");
}

// Two integers a byte, the first one in the low bits.
std::vector<std::byte> pack_nibbles(std::span<const std::byte> integers) {
  constexpr std::uint8_t low = 0xf;
  std::vector<std::byte> made((integers.size() + 1) / 2);
  for (std::size_t i = 0; i < integers.size(); ++i)
    made[i / 2] |= (integers[i] & std::byte{low}) << (i % 2 == 0 ? 0 : 4);
  return made;
}

}  // namespace

const TensorData* Emitter::constant_data_of(const Value& value) const {
  const Value& source = source_of(value);
  if (facts_ != nullptr && facts_->mutated.contains(&source)) return nullptr;
  return method_ != nullptr ? constant_data(*program_, *method_, source) : nullptr;
}

void Emitter::defer_dequantize(const Node& node) {
  deferred_[node.result()] = &node;
  const auto quantization = quantization_of(node);
  if (quantization) integers_[node.result()] = {input(*OpCall(node).value("input")), *quantization};
}

std::optional<Quantization> Emitter::wanted(const Value& value) const {
  if (facts_ == nullptr) return std::nullopt;
  const auto known = facts_->wanted.find(&value);
  return known == facts_->wanted.end() ? std::nullopt : std::optional(known->second);
}

std::optional<Integers> Emitter::integers(const Value& value) {
  const auto known = integers_.find(&value);
  if (known != integers_.end()) return known->second;
  const Node* producer = value.producer();
  if (scope_ == Scope::Method || producer == nullptr || values_.contains(&value) ||
      value.tensor().dtype != ScalarType::F32)
    return std::nullopt;
  if (dequantizes(*producer)) {
    const Node* node = node_;
    const auto mode = std::exchange(mode_, std::nullopt);
    const Check before = std::exchange(refusal_, std::nullopt);
    begin(*producer);
    if (quantization_of(*producer)) defer_dequantize(*producer);
    refusal_ = before;
    mode_ = mode;
    if (node != nullptr) begin(*node);
  } else if (facts_ != nullptr && facts_->integers.contains(&value)) {
    integers_[&value] = {add_argument(value, facts_->integers.at(&value).dtype()),
                         facts_->integers.at(&value)};
  }
  const auto made = integers_.find(&value);
  return made == integers_.end() ? std::nullopt : std::optional(made->second);
}

std::optional<WeightIntegers> Emitter::weight(const Value& value) {
  const Node* producer = value.producer();
  const TensorData* data = producer != nullptr && dequantizes(*producer)
                               ? constant_data_of(*OpCall(*producer).value("input"))
                               : nullptr;
  if (data != nullptr && data->type.dtype == ScalarType::I8 && producer->op() == dequantize_channels_op) {
    const OpCall call(*producer);
    WeightIntegers weight;
    weight.axis = dimension(call, "axis", data->type.rank());
    const TensorData* scales = constant_data_of(*call.value("scales"));
    const TensorData* zeros =
        call["zero_points"].is_none() ? nullptr : constant_data_of(*call.value("zero_points"));
    if (scales == nullptr || (zeros == nullptr && !call["zero_points"].is_none())) return std::nullopt;
    const auto numbers = numbers_of(*scales);
    const auto zero_points =
        zeros == nullptr ? std::vector<double>{0} : numbers_of(*zeros).value_or(std::vector<double>{1, 2});
    if (!numbers || std::ranges::adjacent_find(zero_points, std::not_equal_to{}) != zero_points.end())
      return std::nullopt;
    weight.scales = *numbers;
    weight.zero_point = static_cast<std::int32_t>(zero_points[0]);
    weight.tensor = input(*call.value("input"));
    weight.is_4bit = has_4bit_range(call);
    return weight;
  }
  const auto integers = this->integers(value);
  if (!integers) return std::nullopt;
  return WeightIntegers{.tensor = integers->tensor,
                        .scales = {integers->quantization.scale},
                        .axis = 0,
                        .zero_point = integers->quantization.zero_point,
                        .is_4bit = data != nullptr && has_4bit_range(OpCall(*producer))};
}

std::optional<Constant> Emitter::constant_floats(const Value& value) {
  if (const TensorData* data = constant_data_of(value)) {
    if (data->type.dtype != ScalarType::F32) return std::nullopt;
    return weights::constant_of(source_of(value).name().str(), *data);
  }
  const Node* producer = value.producer();
  if (producer == nullptr || !dequantizes(*producer)) return std::nullopt;
  const OpCall call(*producer);
  const TensorData* data = constant_data_of(*call.value("input"));
  if (data == nullptr || value.tensor().dtype != ScalarType::F32) return std::nullopt;
  Steps steps;
  if (producer->op() == dequantize_op) {
    if (!call["scale"].is_number() || !call["zero_point"].is_number()) return std::nullopt;
    steps.scales = {call.number("scale")};
    steps.zero_points = {call.number("zero_point")};
  } else {
    const TensorData* scales = constant_data_of(*call.value("scales"));
    const TensorData* zeros =
        call["zero_points"].is_none() ? nullptr : constant_data_of(*call.value("zero_points"));
    const auto numbers = scales == nullptr ? std::nullopt : numbers_of(*scales);
    if (!numbers || (zeros == nullptr && !call["zero_points"].is_none())) return std::nullopt;
    steps.scales = *numbers;
    const auto points = zeros == nullptr ? std::nullopt : numbers_of(*zeros);
    if (zeros != nullptr && !points) return std::nullopt;
    steps.zero_points = points.value_or(std::vector<double>(steps.scales.size(), 0));
    steps.axis = dimension(call, "axis", data->type.rank());
    for (std::size_t dim = steps.axis + 1; dim < data->type.rank(); ++dim)
      steps.inner *= data->type.sizes[dim].value();
  }
  const ScalarType dtype = data->type.dtype;
  const Dims sizes = data->type.sizes;
  const std::string what = fmt::format("dequantized {} {} {}", fmt::join(steps.scales, ","),
                                       fmt::join(steps.zero_points, ","), steps.axis);
  const std::string_view name = source_of(*call.value("input")).name().str();
  return weights::converted(what, {weights::constant_of(name, *data)}, ScalarType::F32, sizes,
                            [dtype, sizes, steps](std::span<weights::Bytes> inputs) {
                              const auto integers =
                                  numbers_of(make_data(make_tensor(dtype, sizes), inputs[0].take()));
                              const auto numbers = dequantized_numbers(*integers, steps);
                              const auto view = std::as_bytes(std::span(numbers));
                              return std::vector<std::byte>(view.begin(), view.end());
                            });
}

// The integers in the scale of the mode; constants are quantized.
Tensor Emitter::integer_input(const Value& value) {
  const Quantization to = *mode_;
  if (const auto found = integers(value)) return requantize(*found, to);
  if (const auto floats = constant_floats(value)) {
    const ScalarType dtype = to.bits == 8 ? ScalarType::I8 : ScalarType::I16;
    const std::string what = fmt::format("quantized {} {} {}", to.scale, to.zero_point, to.bits);
    return constant(
        weights::converted(what, {*floats}, dtype, floats->sizes(), [to](std::span<weights::Bytes> inputs) {
          const std::span<const std::byte> bytes = inputs[0].view();
          const std::size_t width = static_cast<std::size_t>(to.bits) / 8;
          std::vector<std::byte> made(bytes.size() / sizeof(float) * width);
          for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
            float number = 0;
            std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
            const std::int32_t integer = quantized(number, to);
            std::memcpy(made.data() + i * width, &integer, width);  // the low bytes
          }
          return made;
        }));
  }
  mode_.reset();
  const Tensor floats = input(value);
  mode_ = to;
  if (!refusal_)
    refusal_ = Refusal{"quantization", std::string(value.name().str()), "operands that are quantized"};
  return floats;
}

// TOSA's table of i16 gives i32 with 7 more bits, interpolated between entries of which two neighbors may differ by less
// than 2^15: they are halved where they differ by more. Integers of 8 bits are widened if the result is.
std::optional<Tensor> Emitter::look_up(const Integers& x, const Quantization& to,
                                       const MakeTable& make_table) {
  const auto apply = [&](const Tensor& tensor, const TensorData& table, DType dtype) {
    return as(raw(Op::Table, {tensor, constant(weights::constant_of("", table))}, dtype,
                  graph_.tensors[tensor.id].shape),
              tensor.order);
  };
  const Quantization& from = x.quantization;
  if (from.bits == 8 && to.bits == 8) {
    const auto table = make_table(from, to);
    if (!table) return std::nullopt;
    const std::vector<std::int8_t> numbers(table->begin(), table->end());
    return apply(x.tensor, list_of<std::int8_t>(ScalarType::I8, numbers), DType::I8);
  }
  constexpr double widening = 256;
  const auto widened = [](const Quantization& narrow) {
    return narrow.bits == 16 ? narrow : Quantization{.scale = narrow.scale / widening, .bits = 16};
  };
  const auto table = make_table(widened(from), widened(to));
  if (!table) return std::nullopt;
  constexpr std::int32_t max_slope = std::numeric_limits<std::int16_t>::max();
  const bool is_steep = std::ranges::adjacent_find(*table, [](std::int32_t a, std::int32_t b) {
                          return std::abs(a - b) > max_slope;
                        }) != table->end();
  std::vector<std::int16_t> numbers;
  for (const std::int32_t number : *table)
    numbers.push_back(static_cast<std::int16_t>(is_steep ? number >> 1 : number));
  const Tensor wide =
      from.bits == 16 ? x.tensor : rescale(x.tensor, from.zero_point, DType::I16, 0, widening);
  const Tensor fine = apply(wide, list_of<std::int16_t>(ScalarType::I16, numbers), DType::I32);
  const double factor = std::ldexp(to.bits == 16 ? 1 : 1 / widening, is_steep ? -6 : -7);
  return rescale(fine, 0, to.dtype(), to.zero_point, factor);
}

Tensor Emitter::requantize(const Integers& x, const Quantization& to) {
  const Quantization& from = x.quantization;
  if (from == to) return x.tensor;
  if (from.bits == 8 && to.bits == 8) return *look_up(x, to, table_between);
  return rescale(x.tensor, from.zero_point, to.dtype(), to.zero_point, from.scale / to.scale);
}

Tensor Emitter::rescale(const Tensor& x, std::int32_t x_zero, DType dtype, std::int32_t result_zero,
                        std::span<const double> factors) {
  std::vector<std::int32_t> multipliers;
  std::vector<std::int8_t> shifts;
  const bool is_short = x.dtype == DType::I48;  // TOSA has multipliers of 16 bits for these
  for (const double factor : factors) {
    const auto multiplier = is_short ? multiplier_of(factor, 15) : multiplier_of(factor);
    if (!multiplier && !refusal_)
      refusal_ = Refusal{"quantization", fmt::format("a ratio of scales of {}", factor), "0 to 2^29"};
    multipliers.push_back(multiplier.value_or(Multiplier{}).multiplier);
    shifts.push_back(multiplier.value_or(Multiplier{}).shift);
  }
  const std::vector<std::int16_t> short_ones(multipliers.begin(), multipliers.end());
  const Tensor multiplier =
      constant(weights::constant_of("", is_short ? list_of<std::int16_t>(ScalarType::I16, short_ones)
                                                 : list_of<std::int32_t>(ScalarType::I32, multipliers)));
  const Tensor shift = constant(weights::constant_of("", list_of<std::int8_t>(ScalarType::I8, shifts)));
  const Tensor x_zeros = is_short ? zero_i48() : zero_point(x.dtype, x_zero);
  return as(
      raw(Op::Rescale, {x, multiplier, shift, x_zeros, zero_point(dtype, result_zero)}, dtype,
          graph_.tensors[x.id].shape, RescaleBy{.scale32 = !is_short, .per_channel = factors.size() > 1}),
      x.order);
}

Tensor Emitter::packed(const Tensor& weights) {
  const TosaTensor from = graph_.tensors[weights.id];
  const Dims bytes = {(element_count(from.shape) + 1) / 2};
  Tensor made = constant(
      weights::converted("i4", {*from.constant}, ScalarType::I8, bytes,
                         [](std::span<weights::Bytes> inputs) { return pack_nibbles(inputs[0].view()); }),
      from.name);
  TosaTensor& tensor = graph_.tensors[made.id];
  tensor.dtype = made.dtype = DType::I4;
  tensor.shape = from.shape;
  made.shape = weights.shape;
  made.order = weights.order;
  return made;
}

Tensor Emitter::product(Op op, std::span<const Tensor> operands, const ProductScales& scales,
                        const Shape& shape, Attributes attributes) {
  const bool has_narrow_weights = operands[0].dtype == DType::I16 && op != Op::MatMul;
  const DType wanted = has_narrow_weights ? DType::I8 : operands[0].dtype;
  if (!refusal_ && operands[1].dtype != wanted)
    refusal_ = Refusal{"dtype", std::string(name(operands[1].dtype)), std::string(name(wanted))};
  std::vector<Tensor> all(operands.begin(), operands.end());
  const bool is_packed = scales.is_4bit && operands[0].dtype == DType::I8 && is_constant(operands[1]);
  if (is_packed && op != Op::MatMul) all[1] = packed(operands[1]);
  all.push_back(zero_point(operands[0].dtype, scales.a_zero));
  const Tensor b_zero = zero_point(operands[1].dtype, scales.b_zero);
  all.push_back(all[1].dtype == DType::I4 ? packed(b_zero) : b_zero);
  if (op == Op::MatMul && operands[0].dtype == DType::BF16)
    return cast(raw(op, all, DType::F32, shape), DType::BF16);
  if (scales.factors.empty()) return raw(op, all, operands[0].dtype, shape, std::move(attributes));
  const DType sums = operands[0].dtype == DType::I16 ? DType::I48 : DType::I32;
  return rescale(raw(op, all, sums, shape, std::move(attributes)), 0, scales.result.dtype(),
                 scales.result.zero_point, scales.factors);
}

Tensor Emitter::zero_i48() {
  constexpr std::array<std::int8_t, 6> zero{};
  return constant_i48(weights::constant_of(
      "", make_data<std::int8_t>(ScalarType::I8, {1, std::int64_t{zero.size()}}, std::span(zero))));
}

Check Emitter::integer_result(const Tensor& tensor, const Quantization& quantization, std::size_t i) {
  if (refusal_) return refusal_;
  integers_[node_->result(i)] = {reshape(tensor, result_shape(i)), quantization};
  return {};
}

// (x - zero_point) * scale
Tensor Emitter::dequantized(const Integers& x) {
  const Tensor floats =
      as(raw(Op::Cast, {x.tensor}, DType::F32, graph_.tensors[x.tensor.id].shape), x.tensor.order);
  const Tensor steps =
      x.quantization.zero_point == 0 ? floats : add(Op::Sub, floats, x.quantization.zero_point);
  return mul(steps, x.quantization.scale);
}

Tensor Emitter::dequantized(const OpCall& call) {
  const DType dtype = dtype_of(call.node()->result()->tensor().dtype).value_or(DType::Unknown);
  Tensor x = input(*call.value("input"));
  if (!is_float(dtype) && !refusal_) refusal_ = Refusal{"dtype", std::string(name(dtype)), "f32, f16"};
  const auto operand = [&](std::string_view name) {
    const Value* value = call.value(name);
    if (value == nullptr) return number(call[name].as_double(), dtype);
    const TensorData* data = constant_data_of(*value);
    const auto numbers = data == nullptr ? std::nullopt : numbers_of(*data);
    if (!numbers && !refusal_) refusal_ = Refusal{"quantization", std::string(name), "constants"};
    const std::vector<double> known = numbers.value_or(std::vector<double>(1));
    const std::vector<float> floats(known.begin(), known.end());
    Tensor steps = cast(constant(weights::constant_of("", list_of<float>(ScalarType::F32, floats))), dtype);
    Shape shape(x.rank(), 1);
    if (floats.size() > 1)
      shape[dimension(call, "axis", x.rank())] = static_cast<std::int64_t>(floats.size());
    return reshape(steps, shape);
  };
  const bool is_channels = call.node()->op() == dequantize_channels_op;
  x = as(raw(Op::Cast, {x}, dtype, graph_.tensors[x.id].shape), x.order);
  const std::string_view zero = is_channels ? "zero_points" : "zero_point";
  if (!call[zero].is_none()) x = add(Op::Sub, {x, operand(zero)});
  return mul(x, operand(is_channels ? "scales" : "scale"));
}

}  // namespace depute::tosa
