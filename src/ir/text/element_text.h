// Converts elements of constant data from and to text, and makes random elements. Used by the printer and the
// parser.
//
//   f32 1.0, -2.5e-07, inf, nan     i8 -3     bool true     c64 complex(1.0, 0.5)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "depute/program/type.h"

namespace depute {

// Type of the numbers in an element: f32 for c64, the type itself if it is not complex.
ScalarType number_type(ScalarType type);

// Appends the element at `bytes` as text. Returns false, with an incomplete `out`, if no text represents
// these bits: a NaN with a payload, or a bool other than 0 and 1.
bool append_element(std::string& out, ScalarType type, const std::byte* bytes);

// Fills `bytes` with the elements of `random(seed)`: number i is made from splitmix64 of seed and i. Floats
// are in [-1, 1] in steps of 2^-23 (rounded to the type), signed integers in [-8, 7], unsigned ones in [0,
// 15].
void fill_random(std::span<std::byte> bytes, ScalarType type, std::uint64_t seed);

}  // namespace depute
