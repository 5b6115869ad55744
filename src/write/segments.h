// What .pte and .ptd files have in common: segments of bytes behind a flatbuffer, whose places a header
// between the flatbuffer's first 8 bytes and the rest of it tells.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "depute/data.h"
#include "schema/file_layout.h"
#include "write/blobs.h"

namespace depute {

// Where segments start in a file, and large constants in theirs, unless asked otherwise.
inline constexpr std::uint64_t default_segment_alignment = 128;
// Constants want the alignment of their elements, and runtimes read a segment to memory aligned so.
inline constexpr std::uint64_t constant_alignment = 16;

inline std::uint64_t align(std::uint64_t position, std::uint64_t alignment) {
  return (position + alignment - 1) / alignment * alignment;
}

// Little endian, as the formats are.
template <typename T>
void put(std::span<std::byte> bytes, std::size_t offset, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// A dense tensor's bytes.
inline Blob tensor_blob(const TensorData& tensor, std::uint64_t alignment) {
  return {tensor.storage, static_cast<std::uint64_t>(tensor.offset) * item_size(tensor.type.dtype),
          tensor.byte_size(), alignment};
}

}  // namespace depute
