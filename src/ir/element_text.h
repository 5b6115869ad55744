// Elements of constant data as text and as random numbers: what the printer and the parser need of the bytes.
//
//   f32 1.0, -2.5e-07, inf, nan     i8 -3     bool true     c64 complex(1.0, 0.5)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "depute/scalar_type.h"

namespace depute {

// The type of one number of an element: f32 for c64, the type itself for all that are not complex.
ScalarType number_type(ScalarType type);

// Appends the element at `bytes`. False (and `out` is left unfinished) when no text gives these bits back: a
// NaN with a payload, a bool that is neither 0 nor 1.
bool append_element(std::string& out, ScalarType type, const std::byte* bytes);

// Reads one number of number_type(type) into `bytes`; false when the text is no such number or does not fit.
bool read_number(std::string_view text, ScalarType type, std::byte* bytes);

// Fills `bytes` with the elements of `random(seed)`: number i comes from splitmix64 of seed and i. Floats lie
// in
// [-1, 1] in steps of 2^-23 (rounded to the type), signed integers in [-8, 7], unsigned ones in [0, 15].
void fill_random(std::span<std::byte> bytes, ScalarType type, std::uint64_t seed);

}  // namespace depute
