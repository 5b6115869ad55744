// Parses the text form of a program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "depute/program/program.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Limits for input text; each error names the limit that is exceeded.
inline constexpr std::size_t max_text_bytes = std::size_t{1} << 32;
inline constexpr int max_text_nesting = 128;
inline constexpr std::size_t max_text_tensor_bytes = std::size_t{1} << 33;  // per constant
inline constexpr std::size_t max_text_random_bytes = std::size_t{1} << 28;  // total of all random(...)

// Fails with the position of the first error. `file_name` is used in messages ("model.ir:12:7"), and
// file("...") data are looked up beside it.
Result<Program> parse_program(std::string_view text, const std::string& file_name = "<text>",
                              const std::shared_ptr<const OpTable>& ops = torch_ops());

}  // namespace depute

#pragma GCC visibility pop
