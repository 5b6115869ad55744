#include "rescale.h"

#include <cmath>

namespace depute::tosa {
namespace {

constexpr int min_shift = 2;
constexpr int max_shift = 62;

}  // namespace

std::optional<Multiplier> multiplier_of(double factor, int bits) {
  if (!(factor > 0) || std::isinf(factor)) return std::nullopt;
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);  // 0.5 to 1
  auto multiplier = static_cast<std::int64_t>(std::nearbyint(std::ldexp(fraction, bits)));
  if (multiplier == std::int64_t{1} << bits) {
    multiplier /= 2;
    ++exponent;
  }
  int shift = bits - exponent;
  if (shift < min_shift) return std::nullopt;
  if (shift > max_shift) {
    multiplier = static_cast<std::int64_t>(std::nearbyint(std::ldexp(fraction, bits - (shift - max_shift))));
    shift = max_shift;
  }
  return Multiplier{static_cast<std::int32_t>(multiplier), static_cast<std::int8_t>(shift)};
}

}  // namespace depute::tosa
