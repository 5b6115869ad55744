#include "cli/constant_argument.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace depute {
namespace {

using nlohmann::json;

constexpr std::size_t max_depth = 64;  // of nested lists

Failure bad_value(std::string_view message) {
  return failure("usage", "--constant", message,
                 "VALUE is JSON: a number, true, false, \"text\", [a, list] or "
                 "{\"dtype\": \"f32\", \"tensor\": [[1, 2]]}");
}

// Sizes along the first elements; append_elements checks that all others agree.
Result<Dims> sizes_of(const json& nested) {
  Dims sizes;
  for (const json* part = &nested; part->is_array(); part = &part->front()) {
    if (sizes.size() == max_rank)
      return bad_value(fmt::format("a tensor can have at most {} dimensions", max_rank));
    sizes.emplace_back(static_cast<std::int64_t>(part->size()));
    if (part->empty()) break;
  }
  return sizes;
}

Status append_elements(const json& nested, std::span<const SymInt> sizes, ScalarType dtype,
                       std::vector<std::byte>& bytes) {
  if (!sizes.empty()) {
    if (!nested.is_array() || static_cast<std::int64_t>(nested.size()) != sizes[0].value()) {
      return bad_value("the lists of a tensor must have the same length");
    }
    for (const json& part : nested) DEPUTE_TRY_STATUS(append_elements(part, sizes.subspan(1), dtype, bytes));
    return {};
  }
  const std::size_t start = bytes.size();
  bytes.resize(start + item_size(dtype));
  bool is_element = nested.is_number() || nested.is_boolean();
  if (!is_element || !read_number(nested.dump(), dtype, bytes.data() + start)) {
    return bad_value(fmt::format("{} is not a valid {}", nested.dump(), name(dtype)));
  }
  return {};
}

Result<TensorData> tensor_of(const json& value) {
  if (value.size() != 2 || !value.contains("dtype") || !value.contains("tensor") ||
      !value["dtype"].is_string()) {
    return bad_value("an object must be a tensor");
  }
  auto dtype = scalar_type_from_name(value["dtype"].get<std::string>());
  if (!dtype || is_complex(*dtype)) return bad_value(fmt::format("unknown dtype {}", value["dtype"].dump()));
  DEPUTE_TRY(Dims sizes, sizes_of(value["tensor"]));
  std::vector<std::byte> bytes;
  DEPUTE_TRY_STATUS(append_elements(value["tensor"], {sizes.data(), sizes.size()}, *dtype, bytes));
  return make_data(make_tensor(*dtype, std::move(sizes)), std::move(bytes));
}

Status append_values(const json& value, std::size_t depth, std::vector<ConstantValue>& values) {
  if (depth > max_depth) return bad_value("lists are nested too deeply");
  if (value.is_array()) {
    for (const json& element : value) DEPUTE_TRY_STATUS(append_values(element, depth + 1, values));
    return {};
  }
  if (value.is_object()) {
    DEPUTE_TRY(TensorData tensor, tensor_of(value));
    values.emplace_back(std::move(tensor));
  } else if (value.is_boolean()) {
    values.emplace_back(value.get<bool>());
  } else if (value.is_string()) {
    values.emplace_back(value.get<std::string>());
  } else if (value.is_number_float()) {
    values.emplace_back(value.get<double>());
  } else if (value.is_number_integer()) {
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return bad_value(fmt::format("{} does not fit in an int", value.dump()));
    }
    values.emplace_back(value.get<std::int64_t>());
  } else {
    return bad_value("null is not a constant");
  }
  return {};
}

}  // namespace

Result<ConstantMethod> parse_constant_argument(const std::string& text) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return failure("usage", "--constant", fmt::format("'{}' must have the form NAME=VALUE", text));
  }
  ConstantMethod method{.name = text.substr(0, equals), .values = {}};
  json value =
      json::parse(text.begin() + static_cast<std::ptrdiff_t>(equals) + 1, text.end(), nullptr, false);
  if (value.is_discarded()) {
    return bad_value(fmt::format("'{}' is not valid JSON", text.substr(equals + 1)));
  }
  DEPUTE_TRY_STATUS(append_values(value, 0, method.values));
  if (method.values.empty()) return bad_value("an empty list: a method must return at least one value");
  return method;
}

}  // namespace depute
