// Where the fixed parts of .pte and .ptd files lie: a flatbuffer's root offset (4 bytes) and identifier, then
// a header that tells where the segments are.
#pragma once

#include <cstddef>

namespace depute {

inline constexpr std::size_t identifier_position = 4;
inline constexpr std::size_t header_position = 8;
inline constexpr std::size_t least_file_size = 64;  // the runtime reads that much first

}  // namespace depute
