#include "quantize/constants.h"

#include <algorithm>
#include <cstring>

#include "depute/program/op.h"

namespace depute {

bool is_floats(const Value* value) {
  return value != nullptr && value->type().is_tensor() && value->tensor().dtype == ScalarType::F32;
}

const TensorData* fixed_floats(const Program& program, const Method& method, const Value& value) {
  const TensorData* data = constant_data(program, method, value);
  if (data == nullptr || data->type.dtype != ScalarType::F32) return nullptr;
  return is_mutated(method, *input_spec(method, value)) ? nullptr : data;
}

std::vector<float> floats_of(const TensorData& data) {
  const TensorData dense = data.contiguous();
  const std::span<const std::byte> bytes = dense.dense_bytes();
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

TensorData turned(TensorData data) {
  if (data.type.is_contiguous()) data.type.strides = contiguous_strides(data.type.sizes);
  std::ranges::reverse(data.type.sizes);
  std::ranges::reverse(data.type.strides);
  return data;
}

void set_argument(Node& node, std::string_view name, Argument argument) {
  const auto place = static_cast<std::size_t>(node.def()->arg_index(Name(name)));
  std::vector<Argument> args(node.args().begin(), node.args().end());
  std::vector<NamedArgument> kwargs(node.kwargs().begin(), node.kwargs().end());
  const auto named = std::ranges::find(kwargs, Name(name), &NamedArgument::name);
  if (named != kwargs.end()) {
    named->value = argument;
  } else if (place < args.size()) {
    args[place] = argument;
  } else {
    kwargs.push_back({Name(name), argument});
  }
  node.graph().set_args(node, args, kwargs);
}

Value* NewConstants::add(Method& method, const std::string& name, const TensorData& data) {
  auto [known_key, is_new_key] = keys_.try_emplace(name);
  if (is_new_key) {
    known_key->second = program_.unique_data_key(name);
    program_.data.emplace(known_key->second, data);
  }
  const Name key = known_key->second;
  auto [known, is_new] = values_.try_emplace(std::pair(&method, key.str()), nullptr);
  if (!is_new) return known->second;
  known->second = method.graph->add_input(key, tensor_type(data.type));
  method.inputs.push_back({.kind = InputSpec::Kind::Constant, .target = key, .constant = std::nullopt});
  return known->second;
}

}  // namespace depute
