// Formats numbers for people, and reads them.
//
//   plural(1, "node")             "1 node"
//   bytes_text(41'000'000)        "41.0 MB"
//   amount_text(12'300'000, "B")  "12.3 MB"
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace depute {

// The number and its noun, with "s" unless the number is 1.
std::string plural(std::size_t number, std::string_view noun);

// Bytes of a file or of memory: exact below 10 KB.
std::string bytes_text(std::uint64_t bytes);

// "12.3 MMACs", "12 B", or "unbounded".
std::string amount_text(const std::optional<std::uint64_t>& amount, std::string_view unit);

// Part of a whole, in percent; `of_nothing` if the whole is 0.
double percent(std::uint64_t part, std::uint64_t whole, double of_nothing = 0);

// "4096", "500M", "20G"; K, M, G and T are powers of 1024. Nothing for other text and for sizes beyond 64 bits.
std::optional<std::uint64_t> bytes_of_text(std::string_view text);

// How many of `count` entries a list of at most `top` entries has; 0: all.
std::size_t shown_of(std::size_t count, std::size_t top);

}  // namespace depute
