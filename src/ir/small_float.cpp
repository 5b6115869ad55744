#include "ir/small_float.h"

#include <bit>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace depute {
namespace {

// Meaning of the all-ones exponent and of negative zero.
enum class Special : std::uint8_t {
  Ieee,         // infinity and NaNs
  OneNan,       // finite numbers, except for one NaN with all mantissa bits set
  NegativeZero  // finite numbers; the bits of -0 are the only NaN
};

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;
};

Format format_of(ScalarType type) {
  if (type == ScalarType::F16) return {5, 10, 15, Special::Ieee};
  if (type == ScalarType::BF16) return {8, 7, 127, Special::Ieee};
  if (type == ScalarType::F8E5M2) return {5, 2, 15, Special::Ieee};
  if (type == ScalarType::F8E4M3FN) return {4, 3, 7, Special::OneNan};
  if (type == ScalarType::F8E4M3FNUZ) return {4, 3, 8, Special::NegativeZero};
  CHECK(type == ScalarType::F8E5M2FNUZ) << name(type);
  return {5, 2, 16, Special::NegativeZero};
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double no_limit = std::numeric_limits<double>::infinity();

std::uint16_t nan_bits(const Format& f) {
  int exponent = ((1 << f.exponent_bits) - 1) << f.mantissa_bits;
  if (f.special == Special::NegativeZero)
    return static_cast<std::uint16_t>(1 << (f.exponent_bits + f.mantissa_bits));
  if (f.special == Special::OneNan)
    return static_cast<std::uint16_t>(exponent | ((1 << f.mantissa_bits) - 1));
  return static_cast<std::uint16_t>(exponent | 1 << (f.mantissa_bits - 1));
}

// f8e8m0fnu is a power of two without sign and zero; 255 is NaN.
std::uint16_t encode_power_of_two(double value) {
  if (std::isnan(value)) return 255;
  double magnitude = std::abs(value);
  if (magnitude < 0x1p-127) return 0;
  double exponent = std::nearbyint(std::log2(magnitude));
  return exponent > 127 ? std::uint16_t{255} : static_cast<std::uint16_t>(exponent + 127);
}

}  // namespace

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t fraction = half & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float tiny = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -tiny : tiny;
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x7F800000) {
    return static_cast<std::uint16_t>(sign | 0x7C00 | (magnitude > 0x7F800000 ? 0x200 : 0));
  }
  if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {  // below the smallest normal half: the float addition rounds
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000));
  }
  const std::uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

bool is_small_float(ScalarType type) {
  return is_floating(type) && item_size(type) <= 2;
}

double decode_small_float(ScalarType type, std::uint16_t bits) {
  if (type == ScalarType::F16) return half_to_float(bits);
  if (type == ScalarType::F8E8M0FNU) return bits == 255 ? nan : std::ldexp(1.0, bits - 127);
  Format f = format_of(type);
  int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  int exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  bool negative = (bits >> (f.mantissa_bits + f.exponent_bits)) & 1;
  bool all_ones = exponent == (1 << f.exponent_bits) - 1;
  if (f.special == Special::NegativeZero && bits == nan_bits(f)) return nan;
  if (f.special == Special::OneNan && all_ones && mantissa == (1 << f.mantissa_bits) - 1) return nan;
  if (f.special == Special::Ieee && all_ones) {
    if (mantissa != 0) return nan;
    return negative ? -no_limit : no_limit;
  }
  int whole = exponent == 0 ? mantissa : mantissa + (1 << f.mantissa_bits);
  double value = std::ldexp(whole, (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

std::uint16_t encode_small_float(ScalarType type, double value) {
  if (type == ScalarType::F8E8M0FNU) return encode_power_of_two(value);
  Format f = format_of(type);
  if (std::isnan(value)) return nan_bits(f);
  auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 1 << (f.exponent_bits + f.mantissa_bits) : 0);
  auto infinite = static_cast<std::uint16_t>(((1 << f.exponent_bits) - 1) << f.mantissa_bits | sign);
  std::uint16_t too_large = f.special == Special::Ieee ? infinite : nan_bits(f);
  double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return too_large;
  int exponent = magnitude == 0 ? 1 - f.bias : std::max(std::ilogb(magnitude), 1 - f.bias);
  auto whole = static_cast<std::int64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
  std::int64_t one = std::int64_t{1} << f.mantissa_bits;
  // A mantissa that rounds up to 2.0 carries into the exponent by the addition.
  std::int64_t bits =
      whole < one ? whole : ((std::int64_t{exponent} + f.bias) << f.mantissa_bits) + (whole - one);
  if (bits == 0 && f.special == Special::NegativeZero) return 0;
  std::int64_t first_invalid = f.special == Special::Ieee ? infinite & ~sign
                               : f.special == Special::OneNan
                                   ? nan_bits(f)
                                   : std::int64_t{1} << (f.exponent_bits + f.mantissa_bits);
  if (bits >= first_invalid) return too_large;
  return static_cast<std::uint16_t>(bits | sign);
}

}  // namespace depute
