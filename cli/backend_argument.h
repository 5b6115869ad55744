// Reads --backend [METHOD:]NAME[:key=value,...], --method NAME=FILE and --bound SIZE=MIN..MAX as the user
// wrote them.
#pragma once

#include <string>
#include <utility>

#include "depute/compiler.h"
#include "depute/result.h"

namespace depute {

// "xnnpack:exclude=aten.tan.default,mode=fx" -> {"xnnpack", {{"exclude", "aten.tan.default"}, {"mode",
// "fx"}}}
// "decode:xnnpack" -> {"xnnpack", method "decode"}
Result<BackendRequest> parse_backend_argument(const std::string& text);

// "decode=decode.pt2" -> {"decode", "decode.pt2"}
Result<std::pair<std::string, std::string>> parse_method_argument(const std::string& text);

// "s0=1..2048" -> {"s0", [1, 2048]}; "s0=..2048" leaves the lower end to the program.
Result<std::pair<std::string, Range>> parse_bound_argument(const std::string& text);

}  // namespace depute
