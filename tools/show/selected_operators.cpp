#include "tools/show/selected_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace depute {
namespace {

// Quotes a text as JSON does, which YAML reads, unless it is a plain name.
std::string yaml_text(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:./-";
  const bool starts_with_letter = !text.empty() && ((text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'z');
  if (starts_with_letter && text.back() != ':' && text.find_first_not_of(plain) == text.npos)
    return std::string(text);
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Returns the tensor whose type the kernel's key has for an argument: the tensor itself, or the first one of a list.
// Null for other arguments.
const PlanTensor* tensor_of(const ExecutionPlan& method, std::int32_t argument) {
  const EValue& value = method.values[static_cast<std::size_t>(argument)];
  if (value.kind == EValue::Kind::Tensor) return &method.tensors[value.first];
  if (value.kind != EValue::Kind::TensorList && value.kind != EValue::Kind::OptionalTensorList)
    return nullptr;
  for (const std::int64_t item : method.list_items(value)) {
    if (item >= 0) return tensor_of(method, static_cast<std::int32_t>(item));
  }
  return nullptr;
}

// "v1/6;0,1|6;0,1": type and dim order of each tensor.
std::string kernel_key(const ExecutionPlan& method, const Instruction& call) {
  std::string key = "v1";
  char separator = '/';
  for (const std::int32_t argument : method.args_of(call)) {
    const PlanTensor* tensor = tensor_of(method, argument);
    if (tensor == nullptr) continue;
    key += fmt::format("{}{};{}", separator, tensor->scalar_type, fmt::join(tensor->dim_order, ","));
    separator = '|';
  }
  return key;
}

}  // namespace

std::string selected_operators(const PteContents& file, const std::string& name) {
  std::set<std::string> operators;
  std::map<std::string, std::set<std::string>> keys;
  for (const ExecutionPlan& method : file.methods) {
    for (const PlanOperator& op : method.operators) operators.insert(op.str());
    for (const Instruction& call : method.instructions) {
      if (call.kind == Instruction::Kind::KernelCall)
        keys[method.operators[static_cast<std::size_t>(call.index)].str()].insert(kernel_key(method, call));
    }
  }
  std::string text = "build_features: []\ncustom_classes: []\n";
  text += keys.empty() ? "et_kernel_metadata: {}\n" : "et_kernel_metadata:\n";
  for (const auto& [op, of_op] : keys) {
    text += fmt::format("  {}:\n", yaml_text(op));
    for (const std::string& key : of_op) text += fmt::format("  - {}\n", key);
  }
  text += "include_all_non_op_selectives: false\ninclude_all_operators: false\nkernel_metadata: {}\n";
  text += operators.empty() ? "operators: {}\n" : "operators:\n";
  for (const std::string& op : operators)
    text += fmt::format(
        "  {}:\n    debug_info:\n    - {}\n    include_all_overloads: false\n    is_root_operator: true\n"
        "    is_used_for_training: true\n",
        yaml_text(op), yaml_text(name));
  return text;
}

}  // namespace depute
