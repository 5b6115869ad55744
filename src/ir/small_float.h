// The 8- and 16-bit float types as numbers: f16, bf16, and the five 8-bit ones.
//
//   decode_small_float(ScalarType::F16, 0x3c00)     ->  1.0
//   encode_small_float(ScalarType::BF16, 1.0)       ->  0x3f80
#pragma once

#include <cstdint>

#include "depute/scalar_type.h"

namespace depute {

// True for floats of one or two bytes.
bool is_small_float(ScalarType type);

// f16 and f32, fast: for whole weights. Rounds to the nearest, ties to even.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);

double decode_small_float(ScalarType type, std::uint16_t bits);

// Rounds to the nearest, ties to even. What is too large becomes infinity, or NaN in the types without
// infinity.
std::uint16_t encode_small_float(ScalarType type, double value);

}  // namespace depute
