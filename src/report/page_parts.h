// The files of page/ as text: the build writes page_parts.cpp from page_parts.cpp.in and them.
#pragma once

#include <span>
#include <string_view>

namespace depute::page_parts {

std::string_view frame();                     // page.html
std::string_view style();                     // page.css
std::span<const std::string_view> scripts();  // in the order in which they run

}  // namespace depute::page_parts
