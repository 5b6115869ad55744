// Which characters may be printed as they are. All others are escaped by printable() (depute/program/result.h), in
// the text form as "\x1b", and in JSON as "\u001b".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace depute {

// Length in bytes of the UTF-8 character at the start of `text`, or 0 if it must be escaped: invalid UTF-8,
// control characters, marks that reorder or separate lines (U+202E, U+2028, ...), and U+FFFE and U+FFFF, which
// XML does not allow.
std::size_t printable_length(std::string_view text);

// Escapes these characters in a JSON text that is valid UTF-8.
std::string printable_json(std::string json);

}  // namespace depute
