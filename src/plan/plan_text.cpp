#include "plan/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "depute/program/type.h"

namespace depute {
namespace {

// Longer lists are truncated.
constexpr std::size_t max_shown = 64;

template <typename Range, typename ToText>
std::string joined(const Range& range, ToText&& to_text) {
  std::string text;
  std::size_t count = 0;
  for (const auto& element : range) {
    if (count > 0) text += ", ";
    if (count++ == max_shown) return text + "...";
    text += to_text(element);
  }
  return text;
}

std::string device_text(PlanDevice device) {
  if (device.type == 0) return {};
  return fmt::format(" on {}:{}", device.type == 1 ? "cuda" : fmt::format("device{}", device.type),
                     device.index);
}

std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  bool is_integer = text.find_first_not_of("-0123456789") == text.npos;
  return is_integer ? text + ".0" : text;
}

class PlanPrinter {
 public:
  explicit PlanPrinter(const ExecutionPlan& plan) : plan_(plan) {}

  std::string run() {
    auto value = [this](std::int32_t index) { return operand(index); };
    text_ = fmt::format("method {}({}) -> ({})\n", escaped(plan_.name), joined(plan_.inputs, value),
                        joined(plan_.outputs, value));
    for (std::size_t i = 1; i < plan_.memory_sizes.size(); ++i) {
      const auto device = plan_.memory_devices.find(static_cast<std::uint32_t>(i));
      text_ += fmt::format("  memory {}: {} bytes{}\n", i, plan_.memory_sizes[i],
                           device == plan_.memory_devices.end() ? "" : device_text(device->second));
    }
    for (std::size_t i = 0; i < plan_.values.size(); ++i) {
      if (plan_.values[i].kind != EValue::Kind::Tensor) continue;
      text_ += fmt::format("  %{}: {}\n", i, tensor(plan_.tensors[plan_.values[i].first]));
    }
    for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
      text_ += fmt::format("  {}  {}\n", i, instruction(plan_.instructions[i]));
      plan_.stack_traces.for_each_frame(i, [&](const PlanFrame& frame) { add_frame(frame); });
    }
    return std::move(text_);
  }

 private:
  void add_frame(const PlanFrame& frame) {
    text_ += fmt::format("       at {}:{}", printable(frame.file), frame.line);
    if (!frame.function.empty()) text_ += fmt::format(" in {}", printable(frame.function));
    text_ += frame.text.empty() ? "\n" : fmt::format(": {}\n", printable(frame.text));
  }

  // Prints an operand: tensors by number, other values also by their content.
  std::string operand(std::int64_t index) const {
    if (index < 0) return "none";
    const EValue& value = plan_.values[static_cast<std::size_t>(index)];
    auto item = [this](std::int64_t i) { return operand(i); };
    switch (value.kind) {
      case EValue::Kind::Null:
        return "none";
      case EValue::Kind::Int:
        return fmt::format("%{}={}", index, value.int_value);
      case EValue::Kind::Bool:
        return fmt::format("%{}={}", index, value.int_value != 0);
      case EValue::Kind::Double:
        return fmt::format("%{}={}", index, double_text(value.double_value));
      case EValue::Kind::Tensor:
        return fmt::format("%{}", index);
      case EValue::Kind::String:
        return fmt::format("%{}={}", index, in_quotes(plan_.strings[value.first]));
      case EValue::Kind::IntList:
      case EValue::Kind::TensorList:
      case EValue::Kind::OptionalTensorList:
        return "[" + joined(plan_.list_items(value), item) + "]";
      case EValue::Kind::BoolList:
        return "[" +
               joined(plan_.list_items(value), [](std::int64_t i) { return i != 0 ? "true" : "false"; }) +
               "]";
      case EValue::Kind::DoubleList:
        return "[" + joined(plan_.list_doubles(value), double_text) + "]";
    }
    return {};
  }

  static std::string tensor(const PlanTensor& tensor) {
    std::string text = tensor_text(tensor);
    if (tensor.is_external) return text + " = external " + in_quotes(tensor.name);
    if (!tensor.name.empty()) text += " " + in_quotes(tensor.name);
    if (tensor.memory_id != 0)
      text += fmt::format(" = memory {} + {}", tensor.memory_id, tensor.memory_offset);
    if (tensor.constant != 0) {
      text += fmt::format(" = {} {}", tensor.memory_id != 0 ? "initial value" : "constant", tensor.constant);
    }
    return text;
  }

  std::string instruction(const Instruction& instruction) const {
    auto value = [this](std::int32_t index) { return operand(index); };
    auto index = static_cast<std::size_t>(instruction.index);
    std::string args = joined(plan_.args_of(instruction), value);
    switch (instruction.kind) {
      case Instruction::Kind::KernelCall:
        return fmt::format("{}({})", escaped(plan_.operators[index].str()), args);
      case Instruction::Kind::DelegateCall:
        return fmt::format("delegate {} {}({})", index, escaped(plan_.delegates[index].backend_id), args);
      case Instruction::Kind::MoveCall:
        return fmt::format("move {} to {}", operand(instruction.index), operand(instruction.target));
      case Instruction::Kind::JumpFalseCall:
        return fmt::format("jump to {} unless {}", instruction.target, operand(instruction.index));
      case Instruction::Kind::FreeCall:
        return fmt::format("free {}", operand(instruction.index));
    }
    return {};
  }

  const ExecutionPlan& plan_;
  std::string text_;
};

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  return "\"" + escaped(text) + "\"";
}

std::string tensor_text(const PlanTensor& tensor) {
  auto type = scalar_type_from_executorch(tensor.scalar_type);
  auto number = [](auto value) { return fmt::format("{}", value); };
  std::string text = type ? std::string(name(*type)) : fmt::format("dtype{}", tensor.scalar_type);
  text += "[" + joined(tensor.sizes, number) + "]";
  if (!std::ranges::is_sorted(tensor.dim_order)) {
    text += "{dim_order=[" + joined(tensor.dim_order, number) + "]}";
  }
  if (tensor.dynamism == ShapeDynamism::DynamicBound) text += " at most";
  if (tensor.dynamism == ShapeDynamism::DynamicUnbound) text += " unbounded";
  return text + device_text(tensor.device);
}

std::string plan_text(const ExecutionPlan& plan) {
  return PlanPrinter(plan).run();
}

std::optional<std::uint64_t> byte_size(const PlanTensor& tensor) {
  const auto type = scalar_type_from_executorch(tensor.scalar_type);
  std::uint64_t bytes = type ? item_size(*type) : 1;
  for (const std::int32_t size : tensor.sizes) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace depute
