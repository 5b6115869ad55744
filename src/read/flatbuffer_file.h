// What .pte and .ptd files have in common: a flatbuffer with an identifier, a header inside of its first
// bytes, and segments behind it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace depute::internal {

constexpr std::size_t identifier_position = 4;
constexpr std::size_t header_position = 8;
constexpr std::size_t least_file_size = 64;  // the runtime reads that much first

template <typename T>
T number_at(std::span<const std::byte> file, std::size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

inline bool has_text(std::span<const std::byte> file, std::size_t offset, std::string_view text) {
  return file.size() >= offset + text.size() &&
         std::memcmp(file.data() + offset, text.data(), text.size()) == 0;
}

}  // namespace depute::internal
