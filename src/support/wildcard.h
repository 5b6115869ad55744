// Names with * for any text, as users write them: "layers.*", "aten::*.out".
#pragma once

#include <string_view>

namespace depute {

bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace depute
