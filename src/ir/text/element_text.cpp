#include "ir/text/element_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "ir/small_float.h"
#include "ir/text/text.h"
#include "platform/parse_number.h"

namespace depute {
namespace {

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

std::uint16_t load_small(ScalarType type, const std::byte* bytes) {
  return item_size(type) == 1 ? load<std::uint8_t>(bytes) : load<std::uint16_t>(bytes);
}

void store_small(ScalarType type, std::byte* bytes, std::uint16_t bits) {
  if (item_size(type) == 1) {
    store(bytes, static_cast<std::uint8_t>(bits));
  } else {
    store(bytes, bits);
  }
}

// Calls visit(T{}) with the C++ type of a native number type: integers, f32, f64.
template <typename Visit>
auto with_native_type(ScalarType type, Visit&& visit) {
  switch (item_size(type)) {
    case 1:
      return is_integral(type) && type != ScalarType::U8 ? visit(std::int8_t{}) : visit(std::uint8_t{});
    case 2:
      return type == ScalarType::U16 ? visit(std::uint16_t{}) : visit(std::int16_t{});
    case 4:
      if (type == ScalarType::F32) return visit(float{});
      return type == ScalarType::U32 ? visit(std::uint32_t{}) : visit(std::int32_t{});
    default:
      if (type == ScalarType::F64) return visit(double{});
      return type == ScalarType::U64 ? visit(std::uint64_t{}) : visit(std::int64_t{});
  }
}

template <typename T>
bool append_native(std::string& out, const std::byte* bytes) {
  T value = load<T>(bytes);
  if constexpr (std::is_floating_point_v<T>) {
    T plain = std::numeric_limits<T>::quiet_NaN();
    if (std::isnan(value) && std::memcmp(&value, &plain, sizeof value) != 0) return false;
    out += text::float_text(value);
  } else {
    out += std::to_string(value);
  }
  return true;
}

bool append_small(std::string& out, ScalarType type, const std::byte* bytes) {
  std::uint16_t bits = load_small(type, bytes);
  double value = decode_small_float(type, bits);
  if (encode_small_float(type, value) != bits) return false;
  // Use the fewest digits that parse to the same bits.
  for (int digits = 1; digits < 9; ++digits) {
    double rounded = std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
    if (encode_small_float(type, rounded) != bits) continue;
    value = rounded;
    break;
  }
  out += text::float_text(value);
  return true;
}

bool append_number(std::string& out, ScalarType type, const std::byte* bytes) {
  if (type == ScalarType::Bool) {
    auto value = load<std::uint8_t>(bytes);
    out += value != 0 ? "true" : "false";
    return value <= 1;
  }
  if (is_small_float(type)) return append_small(out, type, bytes);
  return with_native_type(type, [&]<typename T>(T) { return append_native<T>(out, bytes); });
}

template <typename T>
bool read_native(std::string_view text, std::byte* bytes) {
  std::optional<T> value = parse_number<T>(text);
  if (text == "nan") {
    if constexpr (!std::is_floating_point_v<T>) return false;
    value = std::numeric_limits<T>::quiet_NaN();
  }
  if (value) store(bytes, *value);
  return value.has_value();
}

// Number `i` of the random stream for `seed`.
std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = seed * 0xD1342543DE82EF95ULL + (i + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

void store_random(ScalarType type, std::byte* bytes, std::uint64_t random) {
  double real = static_cast<double>(random >> 40) * 0x1p-23 - 1.0;
  if (type == ScalarType::Bool) {
    store(bytes, static_cast<std::uint8_t>(random >> 63));
  } else if (is_small_float(type)) {
    store_small(type, bytes, encode_small_float(type, real));
  } else {
    with_native_type(type, [&]<typename T>(T) {
      auto small = static_cast<std::int64_t>(random >> 60);
      if constexpr (std::is_floating_point_v<T>) {
        store(bytes, static_cast<T>(real));
      } else {
        store(bytes, static_cast<T>(std::is_signed_v<T> ? small - 8 : small));
      }
    });
  }
}

}  // namespace

ScalarType number_type(ScalarType type) {
  if (type == ScalarType::C32) return ScalarType::F16;
  if (type == ScalarType::C64) return ScalarType::F32;
  return type == ScalarType::C128 ? ScalarType::F64 : type;
}

bool append_element(std::string& out, ScalarType type, const std::byte* bytes) {
  ScalarType number = number_type(type);
  if (number == type) return append_number(out, type, bytes);
  out += "complex(";
  if (!append_number(out, number, bytes)) return false;
  out += ", ";
  if (!append_number(out, number, bytes + item_size(number))) return false;
  out += ')';
  return true;
}

bool read_number(std::string_view text, ScalarType type, std::byte* bytes) {
  if (type == ScalarType::Bool) {
    store(bytes, static_cast<std::uint8_t>(text == "true"));
    return text == "true" || text == "false";
  }
  if (!is_small_float(type)) {
    return with_native_type(type, [&]<typename T>(T) { return read_native<T>(text, bytes); });
  }
  const auto value = text == "nan" ? std::nan("") : parse_number<double>(text);
  if (!value) return false;
  const std::uint16_t encoded = encode_small_float(type, *value);
  store_small(type, bytes, encoded);
  const double stored = decode_small_float(type, encoded);
  return !std::isfinite(*value) || (std::isfinite(stored) && (stored < 0) == (*value < 0 && stored != 0));
}

void fill_random(std::span<std::byte> bytes, ScalarType type, std::uint64_t seed) {
  ScalarType number = number_type(type);
  std::size_t size = item_size(number);
  for (std::size_t i = 0; (i + 1) * size <= bytes.size(); ++i) {
    store_random(number, bytes.data() + i * size, splitmix64(seed, i));
  }
}

}  // namespace depute
