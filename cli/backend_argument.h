// Parses --method, --calibrate, --bundle and --bound arguments. depute/command_line.h describes --backend.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "depute/compiler/command_line.h"
#include "depute/program/result.h"

namespace depute {

// "decode=decode.pt2" -> {"decode", "decode.pt2"}
Result<std::pair<std::string, std::string>> parse_method_argument(const std::string& text);

// "decode=inputs.npz" -> {"decode", "inputs.npz"}; "inputs.npz" -> {"", "inputs.npz"}. A text with a slash
// before the first "=" is a file without a method. `option` is named in errors.
Result<std::pair<std::string, std::string>> parse_arrays_argument(std::string_view option,
                                                                  const std::string& text);

// "s0=1..2048" -> {"s0", [1, 2048]}. "s0=..2048" keeps the program's lower bound.
Result<std::pair<std::string, Range>> parse_bound_argument(const std::string& text);

}  // namespace depute
