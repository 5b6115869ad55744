#include "kernels/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "depute/program/infer.h"
#include "support/check.h"
#include "support/try.h"

namespace depute::internal {
double as_double(const RuntimeValue& content) {
  if (const auto* number = std::get_if<std::int64_t>(&content)) return static_cast<double>(*number);
  if (const auto* truth = std::get_if<bool>(&content)) return *truth ? 1 : 0;
  const auto* number = std::get_if<double>(&content);
  CHECK(number != nullptr);
  return *number;
}

std::int64_t as_int(const RuntimeValue& content) {
  if (const auto* truth = std::get_if<bool>(&content)) return *truth ? 1 : 0;
  const auto* number = std::get_if<std::int64_t>(&content);
  CHECK(number != nullptr);
  return *number;
}

KernelCall::KernelCall(const OpCall& call, std::span<const Type> result_types,
                       const RuntimeValueOf& content_of)
    : call_(&call), result_types_(result_types), content_of_(&content_of) {
  for (const Argument& argument : call.args()) {
    for_each_value(argument, [&](const Argument& value) {
      const auto* data = std::get_if<TensorData>((*content_of_)(*value.as_value()));
      if (data != nullptr) operand_bytes_ += data->byte_size();
    });
  }
}

RuntimeValue KernelCall::content_of(const Argument& argument) const {
  switch (argument.kind) {
    case Argument::Kind::Value:
      return *(*content_of_)(*argument.as_value());
    case Argument::Kind::Int:
      return argument.as_int();
    case Argument::Kind::Float:
      return argument.as_double();
    case Argument::Kind::Bool:
      return argument.as_bool();
    case Argument::Kind::None:
    case Argument::Kind::Complex:
    case Argument::Kind::String:
    case Argument::Kind::ScalarType:
    case Argument::Kind::MemoryFormat:
    case Argument::Kind::Layout:
    case Argument::Kind::Device:
    case Argument::Kind::List:
    case Argument::Kind::Graph:
    case Argument::Kind::Operator:
    case Argument::Kind::Delegate:
    case Argument::Kind::Map:
      break;
  }
  return std::monostate{};
}

bool KernelCall::is_none(std::string_view name) const {
  return (*call_)[name].is_none();
}

const TensorData& KernelCall::tensor(std::string_view name) const {
  const RuntimeValue* content = (*content_of_)(*(*call_)[name].as_value());
  return std::get<TensorData>(*content);
}

std::optional<TensorData> KernelCall::optional_tensor(std::string_view name) const {
  if (is_none(name)) return std::nullopt;
  return tensor(name);
}

std::vector<TensorData> KernelCall::tensors(std::string_view name) const {
  std::vector<TensorData> list;
  for (const Argument& element : (*call_)[name].as_list()) {
    list.push_back(std::get<TensorData>(content_of(element)));
  }
  return list;
}

std::vector<std::optional<TensorData>> KernelCall::optional_tensors(std::string_view name) const {
  std::vector<std::optional<TensorData>> list;
  for (const Argument& element : (*call_)[name].as_list()) {
    if (element.is_none()) {
      list.emplace_back();
    } else {
      list.push_back(std::get<TensorData>(content_of(element)));
    }
  }
  return list;
}

std::int64_t KernelCall::integer(std::string_view name) const {
  return as_int(content_of((*call_)[name]));
}
bool KernelCall::boolean(std::string_view name) const {
  return as_double(content_of((*call_)[name])) != 0;
}
double KernelCall::number(std::string_view name) const {
  return as_double(content_of((*call_)[name]));
}

std::string_view KernelCall::text(std::string_view name) const {
  const Argument& argument = (*call_)[name];
  return argument.kind == Argument::Kind::String ? argument.as_symbol().str() : std::string_view();
}

Shape KernelCall::ints(std::string_view name) const {
  const Argument& argument = (*call_)[name];
  if (argument.is_none()) return {};
  if (!argument.is_list()) return {as_int(content_of(argument))};
  Shape list;
  for (const Argument& element : argument.as_list()) list.push_back(as_int(content_of(element)));
  return list;
}

std::vector<double> KernelCall::numbers(std::string_view name) const {
  std::vector<double> list;
  const Argument& argument = (*call_)[name];
  if (argument.is_none()) return list;
  if (!argument.is_list()) return {as_double(content_of(argument))};
  for (const Argument& element : argument.as_list()) list.push_back(as_double(content_of(element)));
  return list;
}

TensorData KernelCall::as_operand(const RuntimeValue& content) const {
  if (const auto* data = std::get_if<TensorData>(&content)) return *data;
  if (const auto* number = std::get_if<std::int64_t>(&content)) return scalar_data(*number);
  if (const auto* truth = std::get_if<bool>(&content)) return scalar_data(*truth);
  return scalar_data(as_double(content));
}

TensorData KernelCall::operand(std::size_t index) const {
  return as_operand(content_of((*call_)[index]));
}
TensorData KernelCall::operand(std::string_view name) const {
  return as_operand(content_of((*call_)[name]));
}

ScalarType KernelCall::result_type(std::size_t index) const {
  return result_types_[index].tensor.dtype;
}

ScalarType KernelCall::compute_type() const {
  if (result_type() != ScalarType::Bool) return result_type();
  if (call_->def().promotes()) return promoted_type(*call_);
  std::optional<ScalarType> common;
  for (const Argument& argument : call_->args()) {
    if (!argument.is_value() || !argument.as_value()->type().is_tensor()) continue;
    ScalarType dtype = argument.as_value()->tensor().dtype;
    common = common ? promote(*common, dtype) : dtype;
  }
  return common.value_or(ScalarType::Bool);
}

Result<RuntimeValue> KernelCall::dense(ScalarType dtype, const Shape& sizes,
                                       std::function<std::vector<std::byte>()> compute) const {
  TensorType type = make_tensor(dtype, as_dims(sizes));
  auto bytes = checked_count(sizes) ? type.static_bytes() : std::nullopt;
  if (!bytes || *bytes > max_kernel_result_bytes) {
    return bad_arguments(
        fmt::format("a result of {} exceeds the limit of {} bytes", str(type), max_kernel_result_bytes));
  }
  if (*bytes + operand_bytes_ <= max_eager_bytes) return make_data(std::move(type), compute());
  TensorData data;
  data.type = std::move(type);
  data.storage = Storage::lazy(*bytes, std::move(compute));
  return data;
}

Result<TensorData> cast(const KernelCall& call, const TensorData& data, ScalarType dtype) {
  if (data.type.dtype == dtype) return data;
  TRY(Domain domain, domain_of(data.type.dtype));
  TRY_STATUS(check_arithmetic(dtype));
  TRY(RuntimeValue result, call.dense(dtype, sizes_of(data), [data, dtype, domain] {
    return in_domain(domain, [&]<typename T>(T) { return pack<T>(dtype, Elements<T>(data).span()); });
  }));
  return std::get<TensorData>(std::move(result));
}

std::optional<std::size_t> checked_count(const Shape& sizes) {
  constexpr std::int64_t limit = std::int64_t{1} << 60;
  std::int64_t count = 1;
  bool is_empty = false;
  for (std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    is_empty |= size == 0;
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count) || count > limit) {
      return std::nullopt;
    }
  }
  return is_empty ? 0 : static_cast<std::size_t>(count);
}

}  // namespace depute::internal
