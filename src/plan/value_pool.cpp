#include "plan/value_pool.h"

#include <utility>

namespace depute {
namespace {

std::string key_of(EValue::Kind kind, std::span<const std::byte> bytes) {
  std::string key(1, static_cast<char>(kind));
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return key;
}

}  // namespace

std::int32_t ValuePool::add(EValue value) {
  plan_->values.push_back(value);
  return static_cast<std::int32_t>(plan_->values.size() - 1);
}

std::int32_t ValuePool::add_tensor(PlanTensor tensor) {
  EValue value{.kind = EValue::Kind::Tensor, .first = static_cast<std::uint32_t>(plan_->tensors.size())};
  plan_->tensors.push_back(std::move(tensor));
  return add(value);
}

std::int32_t ValuePool::add_scalar(EValue::Kind kind) {
  return add(EValue{.kind = kind});
}

std::int32_t ValuePool::shared(EValue value, std::string key) {
  auto [entry, is_new] = shared_.try_emplace(std::move(key), 0);
  if (is_new) entry->second = add(value);
  return entry->second;
}

std::int32_t ValuePool::null() {
  return shared({.kind = EValue::Kind::Null}, key_of(EValue::Kind::Null, {}));
}

std::int32_t ValuePool::integer(std::int64_t value) {
  EValue::Kind kind = EValue::Kind::Int;
  return shared({.kind = kind, .int_value = value}, key_of(kind, std::as_bytes(std::span(&value, 1))));
}

std::int32_t ValuePool::boolean(bool value) {
  EValue::Kind kind = EValue::Kind::Bool;
  return shared({.kind = kind, .int_value = value}, key_of(kind, std::as_bytes(std::span(&value, 1))));
}

std::int32_t ValuePool::number(double value) {
  EValue::Kind kind = EValue::Kind::Double;
  return shared({.kind = kind, .double_value = value}, key_of(kind, std::as_bytes(std::span(&value, 1))));
}

std::int32_t ValuePool::text(std::string_view value) {
  EValue::Kind kind = EValue::Kind::String;
  auto [entry, is_new] = shared_.try_emplace(key_of(kind, std::as_bytes(std::span(value))), 0);
  if (!is_new) return entry->second;
  plan_->strings.emplace_back(value);
  entry->second = add({.kind = kind, .first = static_cast<std::uint32_t>(plan_->strings.size() - 1)});
  return entry->second;
}

std::int32_t ValuePool::shared_items(EValue::Kind kind, std::span<const std::int64_t> values) {
  auto [entry, is_new] = shared_.try_emplace(key_of(kind, std::as_bytes(values)), 0);
  if (!is_new) return entry->second;
  auto first = static_cast<std::uint32_t>(plan_->items.size());
  plan_->items.insert(plan_->items.end(), values.begin(), values.end());
  entry->second = add({.kind = kind, .first = first, .count = static_cast<std::uint32_t>(values.size())});
  return entry->second;
}

std::int32_t ValuePool::int_list(std::span<const std::int64_t> values) {
  return shared_items(EValue::Kind::IntList, values);
}

std::int32_t ValuePool::bool_list(std::span<const std::int64_t> values) {
  return shared_items(EValue::Kind::BoolList, values);
}

std::int32_t ValuePool::tensor_list(std::span<const std::int64_t> values, bool is_optional) {
  return shared_items(is_optional ? EValue::Kind::OptionalTensorList : EValue::Kind::TensorList, values);
}

std::int32_t ValuePool::double_list(std::span<const double> values) {
  EValue::Kind kind = EValue::Kind::DoubleList;
  auto [entry, is_new] = shared_.try_emplace(key_of(kind, std::as_bytes(values)), 0);
  if (!is_new) return entry->second;
  auto first = static_cast<std::uint32_t>(plan_->doubles.size());
  plan_->doubles.insert(plan_->doubles.end(), values.begin(), values.end());
  entry->second = add({.kind = kind, .first = first, .count = static_cast<std::uint32_t>(values.size())});
  return entry->second;
}

}  // namespace depute
