// The calls of a run: arrays of a file or random numbers, checked against the method's inputs before the runtime gets them.
//
//   f32[2, 8] for forward(f32[2, 16])   error[usage]: x.npz: input 0 ('x') is f32[2, 8], not f32[2, 16]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/tensors.h"
#include "plan/plan_text.h"
#include "read/npz.h"
#include "support/number_text.h"
#include "support/try.h"
#include "tools/run/run.h"

namespace depute {
namespace {

const EValue& input_value(const ExecutionPlan& method, std::size_t input) {
  return method.values[static_cast<std::size_t>(method.inputs[input])];
}

std::string value_text(const ExecutionPlan& method, std::int32_t index) {
  const EValue& value = method.values[static_cast<std::size_t>(index)];
  switch (value.kind) {
    case EValue::Kind::Tensor:
      return tensor_text(method.tensors[value.first]);
    case EValue::Kind::Int:
      return "int";
    case EValue::Kind::Bool:
      return "bool";
    case EValue::Kind::Double:
      return "float";
    case EValue::Kind::Null:
      return "none";
    case EValue::Kind::String:
      return "text";
    default:
      return "list";
  }
}

std::string values_text(const ExecutionPlan& method, const std::vector<std::int32_t>& indices) {
  std::vector<std::string> texts;
  for (const std::int32_t index : indices) texts.push_back(value_text(method, index));
  return fmt::format("({})", fmt::join(texts, ", "));
}

// Element type and sizes that an array must have; numbers have no dimensions.
struct Expected {
  ScalarType dtype = ScalarType::F32;
  const PlanTensor* tensor = nullptr;  // null: a number
};

Result<Expected> expected_input(const ExecutionPlan& method, std::size_t input) {
  const EValue& value = input_value(method, input);
  const std::string where = fmt::format("input {} of {}", input, method.name);
  switch (value.kind) {
    case EValue::Kind::Int:
      return Expected{.dtype = ScalarType::I64};
    case EValue::Kind::Bool:
      return Expected{.dtype = ScalarType::Bool};
    case EValue::Kind::Double:
      return Expected{.dtype = ScalarType::F64};
    case EValue::Kind::Tensor: {
      const PlanTensor& tensor = method.tensors[value.first];
      const auto dtype = scalar_type_from_executorch(tensor.scalar_type);
      if (!dtype)
        return failure("run", where, fmt::format("it has the unknown element type {}", tensor.scalar_type));
      return Expected{*dtype, &tensor};
    }
    default:
      return failure(
          "run", where,
          fmt::format("inputs of the kind '{}' are not supported", value_text(method, method.inputs[input])),
          "tensors and numbers are");
  }
}

bool fits(const TensorType& type, const PlanTensor& tensor) {
  if (type.rank() != tensor.sizes.size()) return false;
  for (std::size_t dim = 0; dim < type.rank(); ++dim) {
    const std::int64_t size = type.sizes[dim].value();
    const bool is_static = tensor.dynamism == ShapeDynamism::Static;
    if (is_static ? size != tensor.sizes[dim] : size > tensor.sizes[dim]) return false;
  }
  return true;
}

Result<RuntimeValue> argument(const ExecutionPlan& method, std::size_t input, const std::string& name,
                              const TensorData& data, const std::string& file) {
  TRY(const Expected expected, expected_input(method, input));
  const bool has_dtype = data.type.dtype == expected.dtype;
  const bool has_sizes =
      expected.tensor == nullptr ? data.type.rank() == 0 : fits(data.type, *expected.tensor);
  if (!has_dtype || !has_sizes)
    return failure("usage", file,
                   fmt::format("input {} ('{}') is {}, not {}", input, name, str(data.type),
                               value_text(method, method.inputs[input])),
                   signature(method));
  if (expected.tensor != nullptr) return data.contiguous();
  if (expected.dtype == ScalarType::F64) return internal::Elements<double>(data)[0];
  const std::int64_t number = internal::Elements<std::int64_t>(data)[0];
  return expected.dtype == ScalarType::Bool ? RuntimeValue(number != 0) : RuntimeValue(number);
}

bool is_none(const ExecutionPlan& method, std::size_t input) {
  return input_value(method, input).kind == EValue::Kind::Null;
}

std::size_t inputs_with_data(const ExecutionPlan& method) {
  std::size_t count = 0;
  for (std::size_t input = 0; input < method.inputs.size(); ++input) count += is_none(method, input) ? 0 : 1;
  return count;
}

RuntimeValue exported_number(const EValue& value) {
  if (value.kind == EValue::Kind::Double) return value.double_value;
  if (value.kind == EValue::Kind::Bool) return value.int_value != 0;
  return value.int_value;
}

// The numbers of arr_0, arr_1, ...; empty if an array has another name.
std::vector<std::size_t> numbers_of(const NamedArrays& arrays) {
  std::vector<std::size_t> numbers;
  for (const auto& [name, data] : arrays) {
    constexpr std::string_view prefix = "arr_";
    if (!name.starts_with(prefix)) return {};
    const auto number = whole_number(std::string_view(name).substr(prefix.size()));
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::size_t> in_order(const NamedArrays& arrays) {
  std::vector<std::size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<std::size_t> numbers = numbers_of(arrays);
  if (!numbers.empty()) std::ranges::stable_sort(order, {}, [&](std::size_t each) { return numbers[each]; });
  return order;
}

}  // namespace

std::string signature(const ExecutionPlan& method) {
  return fmt::format("{}{} -> {}", method.name, values_text(method, method.inputs),
                     values_text(method, method.outputs));
}

Result<RunCall> call_of_arrays(const ExecutionPlan& method, const NamedArrays& arrays,
                               const std::string& file) {
  const std::size_t wanted = inputs_with_data(method);
  if (arrays.size() != wanted)
    return failure("usage", file,
                   fmt::format("{} for {}", plural(arrays.size(), "array"), plural(wanted, "input")),
                   signature(method));
  RunCall call(method.inputs.size());
  const std::vector<std::size_t> order = in_order(arrays);
  auto next = order.begin();
  for (std::size_t input = 0; input < call.size(); ++input) {
    if (is_none(method, input)) continue;
    const auto& [name, data] = arrays[*next++];
    TRY(call[input], argument(method, input, name, data, file));
  }
  return call;
}

Result<RunCall> random_call(const ExecutionPlan& method) {
  std::mt19937_64 random(0);
  RunCall call(method.inputs.size());
  for (std::size_t input = 0; input < method.inputs.size(); ++input) {
    if (is_none(method, input)) continue;
    TRY(const Expected expected, expected_input(method, input));
    if (expected.tensor == nullptr) {
      call[input] = exported_number(input_value(method, input));
      continue;
    }
    Dims sizes;
    std::size_t count = 1;
    for (const std::int32_t size : expected.tensor->sizes) {
      sizes.push_back(size);
      count *= static_cast<std::size_t>(size);
    }
    const ScalarType part = part_of(expected.dtype);
    if (is_complex(expected.dtype)) count *= 2;
    std::vector<std::byte> bytes;
    if (is_floating(part)) {
      std::normal_distribution<float> normal;
      std::vector<float> numbers(count);
      std::ranges::generate(numbers, [&] { return normal(random); });
      bytes = internal::pack<float>(part, numbers);
    } else {
      std::vector<std::int64_t> numbers(count);
      std::ranges::generate(numbers, [&] { return static_cast<std::int64_t>(random() >> 63U); });
      bytes = internal::pack<std::int64_t>(part, numbers);
    }
    call[input] = make_data(make_tensor(expected.dtype, std::move(sizes)), std::move(bytes));
  }
  return call;
}

TensorData as_tensor(const RuntimeValue& value) {
  if (const auto* data = std::get_if<TensorData>(&value)) return *data;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return internal::scalar_data(*number);
  if (const auto* real = std::get_if<double>(&value)) return internal::scalar_data(*real);
  if (const auto* truth = std::get_if<bool>(&value)) return internal::scalar_data(*truth);
  return {};
}

NamedArrays for_numpy(NamedArrays arrays) {
  for (auto& [name, data] : arrays) {
    if (!npy_descr(data.type.dtype).empty()) continue;
    const internal::Elements<float> elements(data);
    data = make_data<float>(ScalarType::F32, data.type.sizes, elements.span());
  }
  return arrays;
}

NamedArrays result_arrays(const RunResult& result) {
  NamedArrays arrays;
  for (std::size_t call = 0; call < result.outputs.size(); ++call) {
    for (std::size_t output = 0; output < result.outputs[call].size(); ++output) {
      TensorData data = as_tensor(result.outputs[call][output]);
      if (data.storage == nullptr) continue;
      std::string name = fmt::format("output_{}", output);
      if (result.outputs.size() > 1) name = fmt::format("call_{}.{}", call, name);
      arrays.emplace_back(std::move(name), std::move(data));
    }
  }
  return arrays;
}

}  // namespace depute
