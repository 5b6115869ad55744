// Reads --backend NAME[:key=value,...] and --method NAME=FILE as the user wrote them.
#pragma once

#include <string>
#include <utility>

#include "depute/compiler.h"
#include "depute/result.h"

namespace depute {

// "xnnpack:exclude=aten.tan.default,mode=fx" -> {"xnnpack", {{"exclude", "aten.tan.default"}, {"mode",
// "fx"}}}
Result<BackendRequest> parse_backend_argument(const std::string& text);

// "decode=decode.pt2" -> {"decode", "decode.pt2"}
Result<std::pair<std::string, std::string>> parse_method_argument(const std::string& text);

}  // namespace depute
