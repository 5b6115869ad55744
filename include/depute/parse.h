// Reads the text form back into a program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "depute/program.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

// Limits on text from outside; each is named in the error that enforces it.
inline constexpr std::size_t max_text_bytes = std::size_t{1} << 32;
inline constexpr int max_text_nesting = 128;
inline constexpr std::size_t max_text_tensor_bytes = std::size_t{1} << 33;  // of one constant
inline constexpr std::size_t max_text_random_bytes = std::size_t{1} << 28;  // of all random(...) together

// `file_name` is for diagnostics ("model.ir:12:7") and for resolving file("...") data beside it.
Result<Program> parse_program(std::string_view text, const std::string& file_name = "<text>",
                              const std::shared_ptr<const OpTable>& ops = torch_ops());

}  // namespace depute

#pragma GCC visibility pop
