// Shared by .pte and .ptd files: segments of bytes behind a flatbuffer. A header after the flatbuffer's first
// 8 bytes holds their positions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "depute/program/data.h"
#include "schema/file_layout.h"
#include "write/blobs.h"

namespace depute {

// Default alignment in bytes of segments in a file, and of large constants in their segment.
inline constexpr std::uint64_t default_segment_alignment = 128;
// Alignment in bytes of constants. Kernels need the alignment of elements; runtimes read segments into memory
// with this alignment.
inline constexpr std::uint64_t constant_alignment = 16;

inline std::uint64_t align(std::uint64_t position, std::uint64_t alignment) {
  return (position + alignment - 1) / alignment * alignment;
}

// Writes a number in little endian, the byte order of the formats.
template <typename T>
void put(std::span<std::byte> bytes, std::size_t offset, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Returns the bytes of a contiguous tensor.
inline Blob tensor_blob(const TensorData& tensor, std::uint64_t alignment) {
  return {tensor.storage, static_cast<std::uint64_t>(tensor.offset) * item_size(tensor.type.dtype),
          tensor.byte_size(), alignment};
}

}  // namespace depute
