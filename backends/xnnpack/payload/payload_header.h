// The 30 bytes in front of a payload's flatbuffer, little-endian, for writer and reader:
//
//   4 zeros | "XH00" | u16 length 30 | u32 flatbuffer at | u32 its size | u32 constants at | u64 their size
//
// The flatbuffer starts at byte 32, inline constants at the next multiple of 16 behind it.
#pragma once

#include <cstddef>
#include <string_view>

namespace depute::xnnpack {

inline constexpr std::string_view magic = "XH00";
inline constexpr std::size_t magic_position = 4;
inline constexpr std::size_t length_position = 8;
inline constexpr std::size_t offset_position = 10;
inline constexpr std::size_t size_position = 14;
inline constexpr std::size_t constants_position = 18;
inline constexpr std::size_t constants_size_position = 22;
inline constexpr std::size_t header_length = 30;
inline constexpr std::size_t flatbuffer_offset = 32;

}  // namespace depute::xnnpack
