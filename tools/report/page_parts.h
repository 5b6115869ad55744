// The files of page/ as text. The build generates page_parts.cpp from them and page_parts.cpp.in.
#pragma once

#include <span>
#include <string_view>

namespace depute::page_parts {

std::string_view frame();                     // page.html
std::string_view style();                     // page.css
std::span<const std::string_view> scripts();  // in execution order

}  // namespace depute::page_parts
