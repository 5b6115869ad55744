// Text from outside (names of files, of nodes, lines of a model) as it may be printed: it keeps to its line
// and cannot steer the terminal.
#pragma once

#include <string>
#include <string_view>

namespace depute {

// Control characters become "\n" and "\x1b", and so do bytes that are no UTF-8.
std::string printable(std::string_view text);

}  // namespace depute
