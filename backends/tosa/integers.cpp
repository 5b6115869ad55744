#include "integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "depute/program/builder.h"
#include "depute/program/interpret.h"

namespace depute::tosa {
namespace {

constexpr std::int32_t step_i16 = 128;  // between the entries of a table

float dequantized(std::int32_t integer, const Quantization& quantization) {
  return static_cast<float>(integer - quantization.zero_point) * static_cast<float>(quantization.scale);
}

template <typename T>
std::vector<double> widened(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T number{};
    std::copy_n(bytes.data() + i * sizeof number, sizeof number, reinterpret_cast<std::byte*>(&number));
    numbers[i] = static_cast<double>(number);
  }
  return numbers;
}

}  // namespace

std::int32_t quantized(float number, const Quantization& quantization) {
  const float steps = std::nearbyint(number * static_cast<float>(1 / quantization.scale));
  const float integer = steps + static_cast<float>(quantization.zero_point);
  if (std::isnan(integer)) return quantization.least();
  return static_cast<std::int32_t>(
      std::clamp(integer, static_cast<float>(quantization.least()), static_cast<float>(quantization.most())));
}

std::optional<Quantization> quantization_of(const Node& node) {
  if (node.op() != quantize_op && node.op() != dequantize_op) return std::nullopt;
  if (node.def() == nullptr || !check_call(node)) return std::nullopt;
  const OpCall call(node);
  if (!call["scale"].is_number() || !call["zero_point"].is_number()) return std::nullopt;
  const bool quantizes = node.op() == quantize_op;
  const TensorType& integer_type = quantizes ? node.result()->tensor() : call.tensor("input");
  const TensorType& float_type = quantizes ? call.tensor("input") : node.result()->tensor();
  const bool is_wide = integer_type.dtype == ScalarType::I16;
  if ((integer_type.dtype != ScalarType::I8 && !is_wide) || float_type.dtype != ScalarType::F32)
    return std::nullopt;
  const auto is = [&](std::string_view name, std::int32_t number) {
    return call[name].is_number() && call.number(name) == number;
  };
  Quantization made{.bits = is_wide ? 16 : 8};
  const bool has_least = is("quant_min", made.least()) || (is_wide && is("quant_min", made.least() + 1));
  if (quantizes && (!has_least || !is("quant_max", made.most()))) return std::nullopt;
  const double scale = call.number("scale");
  const double zero_point = call.number("zero_point");
  if (!(scale > 0) || !std::isnormal(static_cast<float>(scale)) || zero_point < made.least() ||
      zero_point > made.most() || (is_wide && zero_point != 0))
    return std::nullopt;
  made.scale = scale;
  made.zero_point = static_cast<std::int32_t>(zero_point);
  return made;
}

std::optional<std::vector<double>> numbers_of(const TensorData& data) {
  const std::shared_ptr<const Storage> storage = dense_bytes(data);
  if (storage->is_elided()) return std::nullopt;
  const std::vector<std::byte> made = storage->is_lazy() ? storage->produce() : std::vector<std::byte>();
  const std::span<const std::byte> bytes =
      storage->is_lazy() ? std::span<const std::byte>(made) : storage->bytes();
  switch (data.type.dtype) {
    case ScalarType::F32:
      return widened<float>(bytes);
    case ScalarType::F64:
      return widened<double>(bytes);
    case ScalarType::I64:
      return widened<std::int64_t>(bytes);
    case ScalarType::I32:
      return widened<std::int32_t>(bytes);
    case ScalarType::I16:
      return widened<std::int16_t>(bytes);
    case ScalarType::I8:
      return widened<std::int8_t>(bytes);
    default:
      return std::nullopt;
  }
}

std::optional<IntegerTable> table_of(const Node& node, const Value& operand, const Quantization& of_operand,
                                     const Quantization& of_result, const ContentOf& constant_of) {
  std::vector<float> numbers;
  const std::int32_t step = of_operand.bits == 8 ? 1 : step_i16;
  const std::int32_t last = of_operand.bits == 8 ? of_operand.most() : of_operand.most() + 1;
  for (std::int32_t integer = of_operand.least(); integer <= last; integer += step)
    numbers.push_back(dequantized(integer, of_operand));
  const auto count = static_cast<std::int64_t>(numbers.size());
  Graph graph;
  std::vector<std::pair<const Value*, RuntimeValue>> contents;
  const auto input = [&](const Value* value) -> Argument {
    const TensorData* data = value == &operand ? nullptr : constant_of(*value);
    contents.emplace_back(nullptr, data != nullptr ? *data
                                                   : make_data<float>(ScalarType::F32, {count},
                                                                      std::span<const float>(numbers)));
    const TensorType type = std::get<TensorData>(contents.back().second).type;
    contents.back().first = graph.add_input(Name("x"), tensor_type(make_tensor(type.dtype, type.sizes)));
    return Argument::of(const_cast<Value*>(contents.back().first));
  };
  const OpCall call(node);
  std::vector<Argument> args;
  for (const Argument& argument : call.args()) args.push_back(graph.import(argument, input));
  Builder builder(graph);
  const Value* result = builder.call(node.op().str(), std::span<const Argument>(args));
  if (result == nullptr) return std::nullopt;
  const auto computed = run_kernel(*result->producer(), [&](const Value& value) -> const RuntimeValue* {
    const auto* found =
        std::ranges::find(contents, &value, [](const auto& entry) { return entry.first; }).base();
    return found == contents.data() + contents.size() ? nullptr : &found->second;
  });
  if (!computed || computed->empty() || !std::holds_alternative<TensorData>((*computed)[0]))
    return std::nullopt;
  const auto results = numbers_of(std::get<TensorData>((*computed)[0]));
  if (!results || results->size() != static_cast<std::size_t>(count)) return std::nullopt;
  IntegerTable table;
  for (const double number : *results) table.push_back(quantized(static_cast<float>(number), of_result));
  return table;
}

IntegerTable table_between(const Quantization& from, const Quantization& to) {
  IntegerTable table;
  for (std::int32_t integer = from.least(); integer <= from.most(); ++integer)
    table.push_back(quantized(dequantized(integer, from), to));
  return table;
}

}  // namespace depute::tosa
