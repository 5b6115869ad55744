// Shared by .pte and .ptd files: a flatbuffer with an identifier, a header near its start, and segments
// behind it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "schema/file_layout.h"

namespace depute::internal {

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
