// Matches names against patterns of users, in which * matches any text: "layers.*", "aten::*.out".
#pragma once

#include <string_view>

namespace depute {

bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace depute
