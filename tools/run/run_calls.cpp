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
#include "platform/parse_number.h"
#include "read/npz.h"
#include "support/number_text.h"
#include "support/try.h"
#include "tools/run/run.h"

namespace depute {
namespace {

// An input or an output of a method.
struct Slot {
  std::string_view word;  // "input"
  std::size_t number = 0;
  std::int32_t index = 0;  // of its value
};

Slot input_slot(const ExecutionPlan& method, std::size_t number) {
  return {"input", number, method.inputs[number]};
}

Slot output_slot(const ExecutionPlan& method, std::size_t number) {
  return {"output", number, method.outputs[number]};
}

const EValue& value_of(const ExecutionPlan& method, const Slot& slot) {
  return method.values[static_cast<std::size_t>(slot.index)];
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

Result<Expected> expected_at(const ExecutionPlan& method, const Slot& slot) {
  const EValue& value = value_of(method, slot);
  const std::string where = fmt::format("{} {} of {}", slot.word, slot.number, method.name);
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
          fmt::format("{}s of the kind '{}' are not supported", slot.word, value_text(method, slot.index)),
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

// `name` says which array of `file` it is; it may be empty.
Result<RuntimeValue> fitting(const ExecutionPlan& method, const Slot& slot, std::string_view name,
                             const TensorData& data, const std::string& file) {
  TRY(const Expected expected, expected_at(method, slot));
  const bool has_dtype = data.type.dtype == expected.dtype;
  const bool has_sizes =
      expected.tensor == nullptr ? data.type.rank() == 0 : fits(data.type, *expected.tensor);
  if (!has_dtype || !has_sizes)
    return failure("usage", file,
                   fmt::format("{} {}{} is {}, not {}", slot.word, slot.number,
                               name.empty() ? "" : fmt::format(" ('{}')", name), str(data.type),
                               value_text(method, slot.index)),
                   signature(method));
  if (expected.tensor != nullptr) return data.contiguous();
  if (expected.dtype == ScalarType::F64) return internal::Elements<double>(data)[0];
  const std::int64_t number = internal::Elements<std::int64_t>(data)[0];
  return expected.dtype == ScalarType::Bool ? RuntimeValue(number != 0) : RuntimeValue(number);
}

bool is_none(const ExecutionPlan& method, const Slot& slot) {
  return value_of(method, slot).kind == EValue::Kind::Null;
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
    const auto number = parse_number<std::uint64_t>(std::string_view(name).substr(prefix.size()));
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

namespace {

// One array for each of the slots that is not none.
Result<RunCall> values_of_arrays(const ExecutionPlan& method, std::span<const Slot> slots,
                                 const NamedArrays& arrays, const std::string& file, std::string_view word) {
  const auto wanted = static_cast<std::size_t>(
      std::ranges::count_if(slots, [&](const Slot& slot) { return !is_none(method, slot); }));
  if (arrays.size() != wanted)
    return failure("usage", file,
                   fmt::format("{} for {}", plural(arrays.size(), "array"), plural(wanted, word)),
                   signature(method));
  RunCall call(slots.size());
  const std::vector<std::size_t> order = in_order(arrays);
  auto next = order.begin();
  for (const Slot& slot : slots) {
    if (is_none(method, slot)) continue;
    const auto& [name, data] = arrays[*next++];
    TRY(call[slot.number], fitting(method, slot, name, data, file));
  }
  return call;
}

std::vector<Slot> input_slots(const ExecutionPlan& method) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < method.inputs.size(); ++i) slots.push_back(input_slot(method, i));
  return slots;
}

std::vector<Slot> output_slots(const ExecutionPlan& method) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < method.outputs.size(); ++i) slots.push_back(output_slot(method, i));
  return slots;
}

}  // namespace

Result<RunCall> call_of_arrays(const ExecutionPlan& method, const NamedArrays& arrays,
                               const std::string& file) {
  return values_of_arrays(method, input_slots(method), arrays, file, "input");
}

Result<RunCall> results_of_arrays(const ExecutionPlan& method, const NamedArrays& arrays,
                                  const std::string& file) {
  return values_of_arrays(method, output_slots(method), arrays, file, "output");
}

Result<RunCall> random_call(const ExecutionPlan& method) {
  std::mt19937_64 random(0);
  RunCall call(method.inputs.size());
  for (std::size_t input = 0; input < method.inputs.size(); ++input) {
    const Slot slot = input_slot(method, input);
    if (is_none(method, slot)) continue;
    TRY(const Expected expected, expected_at(method, slot));
    if (expected.tensor == nullptr) {
      call[input] = exported_number(value_of(method, slot));
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

namespace {

bool has_elements(const RuntimeValue& value) {
  const auto* data = std::get_if<TensorData>(&value);
  if (data == nullptr) return !std::holds_alternative<std::monostate>(value);
  return data->storage != nullptr && !data->storage->is_elided() && data->type.is_static() &&
         fits_storage(*data);
}

std::string number_text(const RuntimeValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return fmt::format("{}", std::get<std::int64_t>(value));
}

Result<RunCall> fitting_values(const ExecutionPlan& method, std::span<const Slot> slots,
                               std::span<const RuntimeValue> values, const std::string& place,
                               std::string_view word) {
  if (values.size() != slots.size())
    return failure("usage", place,
                   fmt::format("{} for {}", plural(values.size(), "value"), plural(slots.size(), word)),
                   signature(method));
  RunCall call;
  for (const Slot& slot : slots) {
    TRY_STATUS(expected_at(method, slot));
    const RuntimeValue& value = values[slot.number];
    if (!has_elements(value))
      return failure("usage", place, fmt::format("{} {} has no elements", word, slot.number),
                     signature(method));
    TRY(RuntimeValue fitted, fitting(method, slot, "", as_tensor(value), place));
    call.push_back(std::move(fitted));
  }
  return call;
}

// Runtimes take no other number than the exported one, and compare tensors alone.
Status check_numbers(const ExecutionPlan& method, const TestCase& test, const std::string& place) {
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    if (std::holds_alternative<TensorData>(test.inputs[i])) continue;
    const std::string given = number_text(test.inputs[i]);
    const std::string exported = number_text(exported_number(value_of(method, input_slot(method, i))));
    if (given != exported)
      return failure("usage", place, fmt::format("input {} is {}, not {}", i, given, exported),
                     "a runtime accepts only the number that the model was exported with");
  }
  for (std::size_t i = 0; i < test.expected.size(); ++i) {
    if (!std::holds_alternative<TensorData>(test.expected[i]))
      return failure("bundle", place, fmt::format("output {} of {} is a number", i, method.name),
                     "a bundle has expected outputs only of methods whose outputs are all tensors");
  }
  return {};
}

}  // namespace

namespace {

Result<TestCase> fitting(const ExecutionPlan& method, const TestCase& test, const std::string& place) {
  TestCase result{.method = method.name};
  TRY(result.inputs, fitting_values(method, input_slots(method), test.inputs, place, "input"));
  if (!test.expected.empty()) {
    TRY(result.expected, fitting_values(method, output_slots(method), test.expected, place, "output"));
  }
  TRY_STATUS(check_numbers(method, result, place));
  return result;
}

}  // namespace

Result<TestCase> fitting_case(const ExecutionPlan& method, const TestCase& test, const std::string& place) {
  Result<TestCase> result = fitting(method, test, place);
  if (!result) result.error().code = "bundle";  // values of a file or of a program, not of a command line
  return result;
}

TensorData ordered(const TensorData& data, std::span<const std::uint8_t> order) {
  if (std::ranges::is_sorted(order)) return data.contiguous();
  const Dims strides = data.type.is_contiguous() ? contiguous_strides(data.type.sizes) : data.type.strides;
  TensorData turned = data;
  Dims sizes;
  Dims turned_strides;
  for (const std::uint8_t dim : order) {
    sizes.push_back(data.type.sizes[dim]);
    turned_strides.push_back(strides[dim]);
  }
  turned.type = make_tensor(data.type.dtype, std::move(sizes), std::move(turned_strides));
  TensorData dense = turned.contiguous();
  dense.type = data.type;
  dense.type.strides = {};
  return dense;
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
