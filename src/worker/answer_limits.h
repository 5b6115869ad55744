// Limits of one line of a worker's answer. They bound the memory that reading it takes: less than 3 times the
// line, and about 100 bytes for each of its parts.
#pragma once

#include <cstddef>
#include <string_view>

#include "depute/program/result.h"

namespace depute {

inline constexpr std::size_t max_answer_bytes = std::size_t{1} << 26;  // a million nodes need a tenth of it
inline constexpr std::size_t max_answer_depth = 64;                    // of lists and objects
// Elements of lists, members of objects, lists and objects: one list entry for each of a million nodes.
inline constexpr std::size_t max_answer_parts = std::size_t{1} << 20;
inline constexpr std::size_t max_answer_objects = std::size_t{1} << 17;
inline constexpr std::size_t max_answer_string_bytes = std::size_t{1} << 20;  // with its escapes
inline constexpr std::size_t max_error_bytes = 4096;  // of each text of an error that a worker reports

// Fails if the line exceeds one of the limits. The line need not be valid JSON.
Status check_answer_size(std::string_view line);

}  // namespace depute
