// Conversion of 8- and 16-bit floats: f16, bf16, and the five 8-bit types.
//
//   decode_small_float(ScalarType::F16, 0x3c00)     ->  1.0
//   encode_small_float(ScalarType::BF16, 1.0)       ->  0x3f80
#pragma once

#include <cstdint>

#include "depute/program/type.h"

namespace depute {

// True for float types of one or two bytes.
bool is_small_float(ScalarType type);

// Fast conversion of f16 for large weights. Rounds to nearest, ties to even.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);

double decode_small_float(ScalarType type, std::uint16_t bits);

// Rounds to nearest, ties to even. Values out of range become infinity, or NaN in types without infinity.
std::uint16_t encode_small_float(ScalarType type, double value);

}  // namespace depute
