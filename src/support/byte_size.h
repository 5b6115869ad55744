// Sizes as people write them: "4096", "500M", "20G"; K, M, G and T are powers of 1024.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace depute {

// Bytes; nothing for what is no size or more than 64 bits hold.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace depute
