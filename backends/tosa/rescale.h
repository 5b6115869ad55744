// Factors of TOSA's RESCALE, which multiplies integers by a number: x * multiplier / 2^shift, rounded to the nearest.
//
//   0.0123   ->   multiplier 1690499128, shift 37
#pragma once

#include <cstdint>
#include <optional>

namespace depute::tosa {

struct Multiplier {
  std::int32_t multiplier = 0;
  std::int8_t shift = 0;
};

// Returns the multiplier of 31 bits, or of 15 for integers of 48, that is nearest to the factor. TOSA's shifts are from 2 to
// 62: a smaller factor has fewer bits, and one whose shift would be less, 0, negative numbers and NaN have none.
std::optional<Multiplier> multiplier_of(double factor, int bits = 31);

}  // namespace depute::tosa
