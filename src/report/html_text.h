// What pages are written with.
#pragma once

#include <string>
#include <string_view>

namespace depute {

std::string html_text(std::string_view text);       // between tags
std::string_view file_name(std::string_view path);  // "model.pt2" of a path

}  // namespace depute
