// Escapes text for HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace depute {

// Escapes text between tags.
std::string escape_html(std::string_view text);
// Returns the last part of a path: "model.pt2".
std::string_view file_name(std::string_view path);

}  // namespace depute
