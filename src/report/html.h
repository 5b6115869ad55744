// Text of a model in an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace depute {

// Text between tags.
std::string escape_html(std::string_view text);
// "model.pt2" of a path.
std::string_view file_name(std::string_view path);

}  // namespace depute
