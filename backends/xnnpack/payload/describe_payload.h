// Prints a payload as text, for `depute show`: the delegate's computation in XNNPACK's terms.
//
//   constant 1: 288 bytes, "xnn:w:4x2x3x3:0231"
//   %0: f32[1, 6, 6, 2] = input 0
//   %3: qcint8[4, 3, 3, 2] scales 0 of constant 2 = constant 1
//   %5: qint8[1, 4, 4, 4] scale 2 zero -128 = Conv2d(%2, %3, %4, kernel 3x3, groups 1 x 2 -> 4, clamp 0..inf)
//   #2 output 1 = %5
//
// Types are XNNPACK's: qint8 has one scale, qcint8 one per channel, qbint4 one per group of a row, qdint8 a
// dynamic one per row. Numbers behind # are those in the runtime's messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "depute/backend/backend.h"
#include "depute/program/result.h"

namespace depute::xnnpack {

Result<std::string> describe_payload(std::span<const std::byte> payload);
// Lists the header, the flatbuffer, inline constants, the keys of constants that are named data, and the newest kinds
// of node and type.
Result<PayloadLayout> payload_layout(std::span<const std::byte> payload);

}  // namespace depute::xnnpack
