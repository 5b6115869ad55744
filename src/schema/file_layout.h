// Positions of the fixed parts of .pte and .ptd files: a flatbuffer's root offset (4 bytes) and identifier,
// then a header with the positions of the segments.
#pragma once

#include <cstddef>

namespace depute {

inline constexpr std::size_t identifier_position = 4;
inline constexpr std::size_t header_position = 8;
inline constexpr std::size_t min_file_size = 64;  // the runtime reads this many bytes first

}  // namespace depute
