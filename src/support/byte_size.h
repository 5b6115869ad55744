// Parses sizes as users write them: "4096", "500M", "20G"; K, M, G and T are powers of 1024.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace depute {

// Returns bytes; nullopt for invalid text and for sizes beyond 64 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace depute
